#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Planes x [outer, channels, size]. What is normalized together has one mean and one rstd: each channel, all of outer
/// together, [channels] of them; or, with `together` planes of one element of outer, [outer * channels / together].
struct ChannelPlanes {
  int64_t outer = 0, channels = 0, size = 0;
  int64_t together = 0;  ///< 0: each channel
};

/// What mean and rstd are made of: x, or numbers that were given.
enum class MeanOf { x, given };

/// Running mean and variance [channels], each null where there is none.
template <class T>
struct RunningMoments {
  Sum<T>* mean = nullptr;
  Sum<T>* var = nullptr;
  double momentum = 0;
};

/// Group and batch normalization: y = n weight + bias, n = (x - mean) rstd, rstd = 1 / sqrt(var + eps), weight and bias
/// [channels], each null where there is none. Without values, mean and rstd are 0. The bits do not depend on the number
/// of threads.
template <class T>
struct ChannelNormKernels {
  /// By mean and biased variance of x. running = (1 - momentum) running + momentum own, of the mean and the unbiased
  /// variance of channels.
  void (*normalize)(const ChannelPlanes& planes, const T* x, const T* weight, const T* bias, double eps,
                    const RunningMoments<T>& running, T* y, Sum<T>* mean, Sum<T>* rstd);
  /// By the mean and variance of each channel that are given.
  void (*normalize_by)(const ChannelPlanes& planes, const T* x, const Sum<T>* given_mean, const Sum<T>* given_var,
                       const T* weight, const T* bias, double eps, T* y, Sum<T>* mean, Sum<T>* rstd);
  /// dx, dweight, dbias: each null when not wanted.
  void (*backward)(const ChannelPlanes& planes, MeanOf of, const T* x, const T* weight, const Sum<T>* mean,
                   const Sum<T>* rstd, const T* dy, T* dx, Sum<T>* dweight, Sum<T>* dbias);
};
TAPE_KERNEL_TABLE(ChannelNormKernels, channel_norm)

}  // namespace tape::kernels
