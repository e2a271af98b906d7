#include "autograd/ops/deferred/product.h"

#include "autograd/dtype.h"

namespace tape {
namespace {

using kernels::Gemm;

class DeferredProduct : public DeferredCall {
 public:
  DeferredProduct(const KernelCall& at, const Gemm& shape, const LinearOperands& of)
      : DeferredCall(at, {&of.x, &of.weight, &of.bias}, {&of.y}),
        gemm(shape),
        x(at.in(of.x)),
        weight(at.in(of.weight)),
        bias(of.bias.defined() ? at.in(of.bias) : nullptr) {}

  const Gemm gemm;
  const void *const x, *const weight, *const bias;

  /// Whether both multiply the same x by matrices of the same size.
  bool is_beside(const DeferredCall& other) const override {
    const auto* const o = dynamic_cast<const DeferredProduct*>(&other);
    if (!o) return false;
    const Gemm &a = gemm, &b = o->gemm;
    return x == o->x && dtype() == o->dtype() && device() == o->device() && !bias == !o->bias && a.m == b.m &&
           a.n == b.n && a.k == b.k && a.lda == b.lda && a.ldb == b.ldb && a.ldc == b.ldc && a.precision == b.precision;
  }

  size_t most_together() const override { return kernels::kMostGemms; }

  void launch(std::span<const DeferredCall* const> together, std::span<void* const> blocks) const override {
    run_kernels("linear", device(), [&](const KernelCall& at) {
      dispatch_with_bf16("linear", dtype(), [&]<class T>(T) {
        const kernels::ProductKernels<T>& kernels = kernels::products<T>(at);
        kernels::GemmsOfOneA<T> all{.count = static_cast<int>(together.size())};
        for (size_t k = 0; k < together.size(); ++k) {
          const auto& product = static_cast<const DeferredProduct&>(*together[k]);
          all.b[k] = static_cast<const T*>(product.weight);
          all.bias[k] = static_cast<const T*>(product.bias);
          all.c[k] = static_cast<T*>(blocks[k]);
        }
        const T* const of = static_cast<const T*>(x);
        // Two are always evenly spaced.
        for (int begin = 0, size; begin < all.count; begin += size) {
          size = all.count - begin;
          while (size > 1 && !kernels.gemm_each(gemm, of, all.part(begin, size))) --size;
          if (size == 1) kernels.gemm(gemm, of, all.b[begin], all.c[begin], all.bias[begin]);
        }
      });
    });
  }
};

}  // namespace

bool defer_product(const KernelCall& at, const Gemm& gemm, const LinearOperands& operands) {
  if (operands.x.dtype() == f16 || operands.y.numel() == 0 || !may_defer(at)) return false;
  DeferredCalls::instance().add(std::make_unique<DeferredProduct>(at, gemm, operands));
  return true;
}

bool add_deferred_product(const Tensor& a, const Tensor& b, Tensor& out) {
  if (a.shape() != b.shape() || a.shape() != out.shape()) return false;
  const auto add = [&](const Tensor& y, const Tensor& other) {
    if (!y.impl().storage->is_deferred()) return false;
    bool added = false;
    run_kernels("add", out.device(), [&](const KernelCall& at) {
      dispatch_with_bf16("add", out.dtype(), [&]<class T>(T) {
        const T* const addend = at.in<T>(other);  // which may begin the product
        added = DeferredCalls::instance().read<DeferredProduct>(y, [&](const DeferredProduct& product) {
          kernels::products<T>(at).gemm_add(product.gemm, static_cast<const T*>(product.x),
                                            static_cast<const T*>(product.weight), static_cast<const T*>(product.bias),
                                            addend, at.out<T>(out));
        });
      });
    });
    return added;
  };
  return add(a, b) || add(b, a);
}

}  // namespace tape
