#include "autograd/kernels/loss/loss.h"

#include <optional>

#include "autograd/cuda/launch/lines.h"
#include "autograd/kernels/runtime/common/missing.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kCrossEntropyTotal = TAPE_FLOAT_KERNELS(cross_entropy_total);
constinit const ValueKernels kCrossEntropy = TAPE_VALUE_KERNELS(cross_entropy);
constinit const ValueKernels kCrossEntropyBackward = TAPE_VALUE_KERNELS(cross_entropy_backward);
constinit const FloatKernels kMeanScale = TAPE_FLOAT_KERNELS(mean_scale);
constinit const FloatKernels kHuber = TAPE_FLOAT_KERNELS(huber);
constinit const FloatKernels kHuberBackward = TAPE_FLOAT_KERNELS(huber_backward);
constinit const FloatKernels kBceWithLogits = TAPE_FLOAT_KERNELS(bce_with_logits);
constinit const FloatKernels kBceWithLogitsBackward = TAPE_FLOAT_KERNELS(bce_with_logits_backward);

/// The sum of the class weights, which only label smoothing needs; null without weights or smoothing.
template <class T>
class TotalWeight {
 public:
  TotalWeight(int64_t V, const T* weight, double smoothing) {
    if (!weight || smoothing == 0) return;
    kCrossEntropyTotal.of<T>()({1}, {256}, V, weight, total_.emplace(1).get());
  }
  const double* get() const { return total_ ? total_->constant() : nullptr; }

 private:
  std::optional<DeviceScratch<double>> total_;
};

template <class T>
void cross_entropy_of_rows(int64_t rows, int64_t V, const T* logits, const int64_t* target, const Sum<T>* weight,
                           int64_t ignore_index, double smoothing, Sum<T>* loss, Sum<T>* lse) {
  const TotalWeight<Sum<T>> total(V, weight, smoothing);
  const Launch launch = over_lines(rows, threads_per_line(V, 1));
  kCrossEntropy.of<T>()(launch.blocks, launch.threads, rows, V, logits, target, weight, total.get(), ignore_index,
                        smoothing, loss, lse);
}
template <class T>
void cross_entropy_of_rows_backward(int64_t rows, int64_t V, const T* logits, const int64_t* target,
                                    const Sum<T>* weight, int64_t ignore_index, double smoothing, const Sum<T>* lse,
                                    const Sum<T>* dloss, T* dlogits) {
  const TotalWeight<Sum<T>> total(V, weight, smoothing);
  const Launch launch = over_lines(rows, threads_per_line(V, 1));
  kCrossEntropyBackward.of<T>()(launch.blocks, launch.threads, rows, V, logits, target, weight, total.get(),
                                ignore_index, smoothing, lse, dloss, dlogits);
}
template <class T>
void mean_scale_of_targets(int64_t n, const int64_t* target, int64_t ignore_index, T* scale) {
  kMeanScale.of<T>()({1}, {1024}, n, target, ignore_index, scale);
}
template <class T>
void huber_loss(int64_t n, double limit, double scale, const T* x, const T* t, T* y) {
  launch_elements(kHuber.of<T>(), n, n, static_cast<T>(limit), static_cast<T>(scale), x, t, y);
}
template <class T>
void huber_loss_backward(int64_t n, double limit, double scale, const T* x, const T* t, const T* dy, T* dx, T* dt) {
  launch_elements(kHuberBackward.of<T>(), n, n, static_cast<T>(limit), static_cast<T>(scale), x, t, dy, dx, dt);
}
template <class T>
void bce_loss(int64_t n, const T* x, const T* t, T* y) {
  launch_elements(kBceWithLogits.of<T>(), n, n, x, t, y);
}
template <class T>
void bce_loss_backward(int64_t n, const T* x, const T* t, const T* dy, T* dx, T* dt) {
  launch_elements(kBceWithLogitsBackward.of<T>(), n, n, x, t, dy, dx, dt);
}
}  // namespace

TAPE_DEFINE_TABLES(LossKernels, loss, .cross_entropy = cross_entropy_of_rows<T>,
                   .cross_entropy_backward = cross_entropy_of_rows_backward<T>, .mean_scale = mean_scale_of_targets<T>,
                   .huber = huber_loss<T>, .huber_backward = huber_loss_backward<T>, .bce_with_logits = bce_loss<T>,
                   .bce_with_logits_backward = bce_loss_backward<T>)
extern const LossKernels<BFloat16> loss_bf16 = {.cross_entropy = cross_entropy_of_rows<BFloat16>,
                                                .cross_entropy_backward = cross_entropy_of_rows_backward<BFloat16>,
                                                .mean_scale = missing,
                                                .huber = missing,
                                                .huber_backward = missing,
                                                .bce_with_logits = missing,
                                                .bce_with_logits_backward = missing};

}  // namespace tape::kernels::cuda
