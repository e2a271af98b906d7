#include "autograd/ops/deferred_product.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/device_memory.h"
#include "autograd/dtype.h"
#include "autograd/tape/observer.h"

namespace tape {
namespace {

using kernels::Gemm;

struct DeferredProduct {
  Gemm gemm;
  DType dtype;
  Device device;
  const void *x, *weight, *bias;
  Storage* result;  // without a block
  std::vector<Ref<Storage>> operands;

  bool reads(const Storage& storage) const {
    return std::ranges::any_of(operands, [&](const Ref<Storage>& s) { return s.get() == &storage; });
  }
  /// Whether both multiply the same x by matrices of the same size.
  bool is_beside(const DeferredProduct& o) const {
    const Gemm &a = gemm, &b = o.gemm;
    return x == o.x && dtype == o.dtype && device == o.device && !bias == !o.bias && a.m == b.m && a.n == b.n &&
           a.k == b.k && a.lda == b.lda && a.ldb == b.ldb && a.ldc == b.ldc && a.precision == b.precision;
  }
};

/// More would keep the memory of their operands for long.
constexpr size_t kMostProducts = 8;

/// All threads' products, in the order of the calls.
class DeferredProducts : public DeferredWork {
 public:
  /// Never destroyed, since storages may be freed at any time during exit.
  static DeferredProducts& instance() {
    static auto* products = new DeferredProducts;
    return *products;
  }

  void add(DeferredProduct product) {
    const std::lock_guard lock(mutex_);
    if (products_.size() >= kMostProducts) run(0);
    product.result->set_writer(this);
    for (const Ref<Storage>& operand : product.operands) operand->set_reader(this);
    products_.push_back(std::move(product));
  }

  void begin(const Storage& storage) override {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < products_.size();)
      if (products_[i].result == &storage || products_[i].reads(storage)) {
        run(i);
        i = 0;
      } else {
        ++i;
      }
  }

  void drop(const Storage& result) noexcept override {
    std::vector<Ref<Storage>> freed;  // after the lock, which they may need
    const std::lock_guard lock(mutex_);
    const auto found = find(result);
    if (found == products_.end()) return;
    freed = std::move(found->operands);
    products_.erase(found);
    unmark(freed);
  }

  void begin_all(Device device) override {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < products_.size();)
      if (products_[i].device == device)
        run(i);
      else
        ++i;
  }

  /// c = addend + the product whose result is `y`; false if it has begun.
  bool add_to(const KernelCall& at, const Storage& y, const void* addend, void* c) {
    const std::lock_guard lock(mutex_);
    const auto found = find(y);
    if (found == products_.end()) return false;
    dispatch_with_bf16("linear", found->dtype, [&]<class T>(T) {
      kernels::products<T>(at).gemm_add(found->gemm, static_cast<const T*>(found->x),
                                        static_cast<const T*>(found->weight), static_cast<const T*>(found->bias),
                                        static_cast<const T*>(addend), static_cast<T*>(c));
    });
    return true;
  }

 private:
  std::vector<DeferredProduct>::iterator find(const Storage& result) {
    return std::ranges::find(products_, &result, &DeferredProduct::result);
  }
  /// Runs product i and those beside it, by one launch if the kernels can. Their results get blocks that are evenly
  /// spaced, as cuBLASLt needs them, at addresses that repeat from step to step.
  void run(size_t i) {
    const std::vector<size_t> together = beside(i);
    std::vector<Storage*> results;
    for (const size_t k : together) results.push_back(products_[k].result);
    std::vector<void*> blocks(together.size());
    Storage::allocate_blocks(results, blocks);
    try {
      launch(together, blocks);
    } catch (...) {
      for (Storage* const result : results) result->free_block();
      throw;
    }
    for (size_t k = together.size(); k-- > 0;) {
      const DeferredProduct done = std::move(products_[together[k]]);
      products_.erase(products_.begin() + static_cast<std::ptrdiff_t>(together[k]));
      done.result->set_writer(nullptr);
      unmark(done.operands);
    }
  }
  void launch(const std::vector<size_t>& together, const std::vector<void*>& blocks) const {
    const DeferredProduct& first = products_[together.front()];
    run_kernels("linear", first.device, [&](const KernelCall& at) {
      dispatch_with_bf16("linear", first.dtype, [&]<class T>(T) {
        const kernels::ProductKernels<T>& kernels = kernels::products<T>(at);
        kernels::GemmsOfOneA<T> all{.count = static_cast<int>(together.size())};
        for (size_t k = 0; k < together.size(); ++k) {
          const DeferredProduct& product = products_[together[k]];
          all.b[k] = static_cast<const T*>(product.weight);
          all.bias[k] = static_cast<const T*>(product.bias);
          all.c[k] = static_cast<T*>(blocks[k]);
        }
        const T* const x = static_cast<const T*>(first.x);
        // Two are always evenly spaced.
        for (int begin = 0, size; begin < all.count; begin += size) {
          size = all.count - begin;
          while (size > 1 && !kernels.gemm_each(first.gemm, x, all.part(begin, size))) --size;
          if (size == 1) kernels.gemm(first.gemm, x, all.b[begin], all.c[begin], all.bias[begin]);
        }
      });
    });
  }
  /// The products that may be launched together with product i, which is among them, in order.
  std::vector<size_t> beside(size_t i) const {
    std::vector<size_t> all;
    for (size_t j = 0; j < products_.size(); ++j)
      if (j == i || products_[j].is_beside(products_[i])) all.push_back(j);
    const size_t most = kernels::kMostGemms, place = static_cast<size_t>(std::ranges::find(all, i) - all.begin());
    const size_t first = place < most ? 0 : place + 1 - most, end = std::min(all.size(), first + most);
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(end)};
  }
  /// Storages that no product reads any more.
  void unmark(const std::vector<Ref<Storage>>& operands) {
    for (const Ref<Storage>& operand : operands)
      if (std::ranges::none_of(products_, [&](const DeferredProduct& p) { return p.reads(*operand); }))
        operand->set_reader(nullptr);
  }

  std::mutex mutex_;
  std::vector<DeferredProduct> products_;
};

/// Whether a product's result can be added to `other` where it is written.
bool is_addable(const Tensor& y, const Tensor& other, const Tensor& out) {
  const Storage& result = *y.impl().storage;
  return result.is_deferred() && y.impl().offset == 0 && result.bytes() == y.numel() * size_of(y.dtype()) &&
         y.shape() == out.shape() && other.shape() == out.shape() && y.dtype() == out.dtype() &&
         other.dtype() == out.dtype();
}

}  // namespace

bool defer_product(const KernelCall& at, const Gemm& gemm, const LinearOperands& operands) {
  const Tensor &x = operands.x, &weight = operands.weight, &bias = operands.bias;
  const DType dtype = x.dtype();
  if (dtype == f16 || detail::is_observed || operands.y.numel() == 0) return false;
  return dispatch_with_bf16("linear", dtype, [&]<class T>(T) {
    if (!kernels::products<T>(at).gemm_add || device_memory::is_blocking(at.device)) return false;
    DeferredProduct product{.gemm = gemm,
                            .dtype = dtype,
                            .device = at.device,
                            .x = at.in<T>(x),
                            .weight = at.in<T>(weight),
                            .bias = at.in<T>(bias),
                            .result = operands.y.impl().storage.get(),
                            .operands = {}};
    const auto hold = [&](const Tensor& operand) {
      if (operand.defined()) product.operands.push_back(operand.impl().storage);
    };
    hold(x), hold(weight), hold(bias);
    static_cast<void>(at.out<T>(operands.y));  // counts the write
    product.result->free_block();
    DeferredProducts::instance().add(std::move(product));
    return true;
  });
}

bool add_deferred_product(const Tensor& a, const Tensor& b, Tensor& out) {
  const bool is_first = is_addable(a, b, out);
  if (!is_first && !is_addable(b, a, out)) return false;
  const Tensor &y = is_first ? a : b, &other = is_first ? b : a;
  bool added = false;
  run_kernels("add", out.device(), [&](const KernelCall& at) {
    dispatch_with_bf16("add", out.dtype(), [&]<class T>(T) {
      const T* const addend = at.in<T>(other);  // which may begin the product
      added = DeferredProducts::instance().add_to(at, *y.impl().storage, addend, at.out<T>(out));
    });
  });
  return added;
}

}  // namespace tape
