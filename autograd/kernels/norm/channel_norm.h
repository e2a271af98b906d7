#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Planes x [outer, channels, size]. mean and rstd are shared by each channel, over all of outer ([channels] of them),
/// or by `together` consecutive planes of one element of outer ([outer * channels / together]).
struct ChannelPlanes {
  int64_t outer = 0, channels = 0, size = 0;
  int64_t together = 0;  ///< 0: per channel
};

/// Whether mean and rstd are computed from x or given.
enum class MeanOf { x, given };

/// Running mean and variance [channels]; either may be null.
template <class T>
struct RunningStats {
  Sum<T>* mean = nullptr;
  Sum<T>* var = nullptr;
  double momentum = 0;
};

/// Group and batch normalization: y = n weight + bias, n = (x - mean) rstd, rstd = 1 / sqrt(var + eps); weight and bias
/// [channels], either may be null. mean and rstd are 0 if there are no values. Bitwise identical for any number of
/// threads.
template <class T>
struct ChannelNormKernels {
  /// Uses the mean and biased variance of x. Updates running = (1 - momentum) running + momentum own, with the mean and
  /// the unbiased variance of the channels.
  void (*normalize)(const ChannelPlanes& planes, const T* x, const T* weight, const T* bias, double eps,
                    const RunningStats<T>& running, T* y, Sum<T>* mean, Sum<T>* rstd);
  /// Uses the given mean and variance of each channel.
  void (*normalize_by)(const ChannelPlanes& planes, const T* x, const Sum<T>* given_mean, const Sum<T>* given_var,
                       const T* weight, const T* bias, double eps, T* y, Sum<T>* mean, Sum<T>* rstd);
  /// dx, dweight, dbias: null ones are not computed.
  void (*backward)(const ChannelPlanes& planes, MeanOf of, const T* x, const T* weight, const Sum<T>* mean,
                   const Sum<T>* rstd, const T* dy, T* dx, Sum<T>* dweight, Sum<T>* dbias);
};
TAPE_KERNEL_TABLE(ChannelNormKernels, channel_norm)

}  // namespace tape::kernels
