#include "autograd/ops/deferred/norm_totals.h"

#include "autograd/dtype.h"
#include "autograd/kernels/norm/norm.h"

namespace tape {
namespace {

class DeferredNormTotals : public DeferredCall {
 public:
  DeferredNormTotals(const KernelCall& at, const Tensor& sums, Tensor& dweight, Tensor& dbias)
      : DeferredCall(at, {&sums}, {&dweight, &dbias}), parts_(sums.size(0)), cols_(sums.size(2)), sums_(at.in(sums)) {}

  bool is_beside(const DeferredCall& other) const override {
    const auto* const o = dynamic_cast<const DeferredNormTotals*>(&other);
    return o && dtype() == o->dtype() && device() == o->device() && parts_ == o->parts_ && cols_ == o->cols_;
  }
  size_t most_together() const override { return kernels::kMostNormTotals; }
  size_t most_waiting() const override { return kernels::kMostNormTotals; }

  void launch(std::span<const DeferredCall* const> together, std::span<void* const> blocks) const override {
    run_kernels("norm", device(), [&](const KernelCall& at) {
      dispatch_floating("norm", dtype(), [&]<class T>(T) {
        std::vector<kernels::NormTotals<T>> all;
        for (size_t i = 0; i < together.size(); ++i)
          all.push_back({static_cast<const T*>(static_cast<const DeferredNormTotals&>(*together[i]).sums_),
                         static_cast<T*>(blocks[2 * i]), static_cast<T*>(blocks[2 * i + 1])});
        kernels::norm<T>(at).totals(parts_, cols_, std::ssize(all), all.data());
      });
    });
  }

 private:
  const int64_t parts_, cols_;
  const void* const sums_;
};

}  // namespace

void defer_norm_totals(const KernelCall& at, const Tensor& sums, Tensor& dweight, Tensor& dbias) {
  DeferredCalls::instance().add(std::make_unique<DeferredNormTotals>(at, sums, dweight, dbias));
}

}  // namespace tape
