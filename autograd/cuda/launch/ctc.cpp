#include "autograd/kernels/loss/ctc.h"

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kCtcForward = TAPE_FLOAT_KERNELS(ctc_forward);
constinit const FloatKernels kCtcBackward = TAPE_FLOAT_KERNELS(ctc_backward);

/// A block per sequence.
template <class T, class... A>
void launch_sequences(const FloatKernels& kernel, const CtcProblem& problem, A... arguments) {
  constexpr int64_t kFewStates = 64;
  const uint32_t threads = 2 * problem.S + 1 <= kFewStates ? 32 : 256;
  kernel.of<T>()({static_cast<uint32_t>(problem.N)}, {threads}, problem, arguments...);
}

template <class T>
void ctc_losses(const CtcProblem& problem, const T* log_probs, T* alpha, T* loss, T* shown) {
  const DeviceScratch<T> rows(problem.N * 2 * (2 * problem.S + 1));
  launch_sequences<T>(kCtcForward, problem, log_probs, rows.get(), alpha, loss, shown);
}

template <class T>
void ctc_gradients(const CtcProblem& problem, const T* log_probs, const T* alpha, const T* loss, const T* dloss,
                   T* dlog_probs) {
  const DeviceScratch<T> rows(problem.N * 3 * (2 * problem.S + 1));
  const DeviceScratch<int64_t> next(problem.N * problem.S);
  const DeviceScratch<bool> first(problem.N * problem.S);
  cuda_device::fill_bytes(dlog_probs, 0, problem.T * problem.N * problem.C * static_cast<int64_t>(sizeof(T)));
  launch_sequences<T>(kCtcBackward, problem, log_probs, alpha, loss, dloss, rows.get(), next.get(), first.get(),
                      dlog_probs);
}

}  // namespace

TAPE_DEFINE_TABLES(CtcKernels, ctc, .forward = ctc_losses<T>, .backward = ctc_gradients<T>)

}  // namespace tape::kernels::cuda
