#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Planes x [outer, channels, size] that are normalized with numbers of their own, [outer, channels], or of their
/// channel alone, [channels].
struct ChannelPlanes {
  int64_t outer = 0, channels = 0, size = 0;
  enum class Numbers { of_plane, of_channel } numbers = Numbers::of_channel;
};

/// The passes of group and batch normalization. The bits do not depend on the number of threads.
template <class T>
struct ChannelNormKernels {
  /// y = (x - mean) * scale + shift
  void (*apply)(const ChannelPlanes& planes, const T* x, const T* mean, const T* scale, const T* shift, T* y);
  /// The sums of dy and of dy (x - mean), of each plane or each channel.
  void (*sums)(const ChannelPlanes& planes, const T* x, const T* mean, const T* dy, T* dy_sum, T* product_sum);
  /// dx = dy * scale + (x - mean) * slope + shift
  void (*gradient)(const ChannelPlanes& planes, const T* x, const T* mean, const T* dy, const T* scale, const T* slope,
                   const T* shift, T* dx);
};
TAPE_KERNEL_TABLE(ChannelNormKernels, channel_norm)

}  // namespace tape::kernels
