#include "autograd/kernels/norm/channel_norm.h"

#include "autograd/cuda/kernels/norm/channel_shape.h"
#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kChannelStatistics = TAPE_FLOAT_KERNELS(channel_statistics);
constinit const FloatKernels kChannelStatisticsGiven = TAPE_FLOAT_KERNELS(channel_statistics_given);
constinit const FloatKernels kChannelNormalize = TAPE_FLOAT_KERNELS(channel_normalize);
constinit const FloatKernels kChannelSums = TAPE_FLOAT_KERNELS(channel_sums);
constinit const FloatKernels kChannelParameterGradients = TAPE_FLOAT_KERNELS(channel_parameter_gradients);
constinit const FloatKernels kChannelGroupGradients = TAPE_FLOAT_KERNELS(channel_group_gradients);
constinit const FloatKernels kChannelInputGradient = TAPE_FLOAT_KERNELS(channel_input_gradient);

ChannelShape channel_shape(const ChannelPlanes& planes) {
  return {planes.outer, planes.channels, planes.size, planes.together};
}
/// Launches a kernel over `lines` lines of n values, which are planes or groups of them.
template <class T, class... A>
void launch_channels(const FloatKernels& kernel, int64_t lines, int64_t n, const ChannelShape& shape, A... arguments) {
  const Launch launch = over_lines(lines, threads_per_line(n, 1));
  kernel.of<T>()(launch.blocks, launch.threads, shape, arguments...);
}

template <class T>
void channel_norm_by_own(const ChannelPlanes& planes, const T* x, const T* weight, const T* bias, double eps,
                         const RunningStats<T>& running, T* y, T* mean, T* rstd) {
  const ChannelShape shape = channel_shape(planes);
  launch_channels<T>(kChannelStatistics, shape.groups(), shape.values(), shape, x, eps, running.momentum, running.mean,
                     running.var, mean, rstd);
  launch_channels<T>(kChannelNormalize, shape.planes(), shape.size, shape, x, static_cast<const T*>(mean),
                     static_cast<const T*>(rstd), weight, bias, y);
}
template <class T>
void channel_norm_by_given(const ChannelPlanes& planes, const T* x, const T* given_mean, const T* given_var,
                           const T* weight, const T* bias, double eps, T* y, T* mean, T* rstd) {
  const ChannelShape shape = channel_shape(planes);
  launch_elements(kChannelStatisticsGiven.of<T>(), shape.channels, shape, given_mean, given_var, eps, mean, rstd);
  launch_channels<T>(kChannelNormalize, shape.planes(), shape.size, shape, x, static_cast<const T*>(mean),
                     static_cast<const T*>(rstd), weight, bias, y);
}

template <class T>
void channel_norm_backward(const ChannelPlanes& planes, MeanOf of, const T* x, const T* weight, const T* mean,
                           const T* rstd, const T* dy, T* dx, T* dweight, T* dbias) {
  const ChannelShape shape = channel_shape(planes);
  const DeviceScratch<double> sums(shape.sums()), products(shape.sums());
  launch_channels<T>(kChannelSums, shape.sums(), shape.per_plane() ? shape.size : shape.values(), shape, x, mean, dy,
                     sums.get(), products.get());
  if (dweight || dbias)
    launch_elements(kChannelParameterGradients.of<T>(), shape.channels, shape, rstd, sums.constant(),
                    products.constant(), dweight, dbias);
  if (!dx) return;
  const DeviceScratch<T> slope(shape.groups()), shift(shape.groups());
  const bool moves = of == MeanOf::x;
  if (moves)
    launch_channels<T>(kChannelGroupGradients, shape.groups(), std::max<int64_t>(1, shape.together), shape, weight,
                       rstd, sums.constant(), products.constant(), slope.get(), shift.get());
  launch_channels<T>(kChannelInputGradient, shape.planes(), shape.size, shape, x, weight, mean, rstd,
                     moves ? slope.constant() : nullptr, moves ? shift.constant() : nullptr, dy, dx);
}
}  // namespace

TAPE_DEFINE_TABLES(ChannelNormKernels, channel_norm, .normalize = channel_norm_by_own<T>,
                   .normalize_by = channel_norm_by_given<T>, .backward = channel_norm_backward<T>)

}  // namespace tape::kernels::cuda
