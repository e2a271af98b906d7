#include "tests/fuzz/operands.h"

namespace tape::fuzz {
namespace {

SpatialSizes sizes_of(Numbers& from) {
  const int64_t first = from.next();
  return from.byte() % 2 == 0 ? SpatialSizes(first) : SpatialSizes{first, from.next()};
}
ConvOptions convolution_of(Numbers& from) {
  ConvOptions options{.stride = sizes_of(from), .padding = sizes_of(from), .dilation = sizes_of(from)};
  options.groups = from.next();
  if (from.byte() % 8 == 7) options.padding = PadTo::same;
  return options;
}
MaxPoolOptions max_pool_of(Numbers& from) {
  return {.stride = sizes_of(from), .padding = sizes_of(from), .dilation = sizes_of(from), .ceil_mode = from.flag()};
}
AvgPoolOptions avg_pool_of(Numbers& from) {
  return {
      .stride = sizes_of(from), .padding = sizes_of(from), .ceil_mode = from.flag(), .count_include_pad = from.flag()};
}
template <auto pool, auto options_of>
Tensor pooled(const Tensors& x, Numbers& from) {
  const SpatialSizes kernel = sizes_of(from);
  return pool(x[0], kernel, options_of(from));
}

/// The corpus contains indices into this list, so the order must not change.
constexpr std::array kWindows = std::to_array<Operation>({
    [](const Tensors& x, Numbers& from) { return conv1d(x[0], x[1], {}, convolution_of(from)); },
    [](const Tensors& x, Numbers& from) { return conv1d(x[0], x[1], x[2], convolution_of(from)); },
    [](const Tensors& x, Numbers& from) { return conv2d(x[0], x[1], {}, convolution_of(from)); },
    [](const Tensors& x, Numbers& from) { return conv2d(x[0], x[1], x[2], convolution_of(from)); },
    pooled<max_pool1d, max_pool_of>,
    pooled<max_pool2d, max_pool_of>,
    pooled<avg_pool1d, avg_pool_of>,
    pooled<avg_pool2d, avg_pool_of>,
    [](const Tensors& x, Numbers& from) { return adaptive_avg_pool1d(x[0], sizes_of(from)); },
    [](const Tensors& x, Numbers& from) { return adaptive_avg_pool2d(x[0], sizes_of(from)); },
    [](const Tensors& x, Numbers& from) {
      return batch_norm(x[0], x[1].detach().clone(), x[2].detach().clone(), {}, {}, {.training = from.flag()});
    },
    [](const Tensors& x, Numbers& from) { return group_norm(x[0], from.next(), x[1], x[2]); },
    [](const Tensors& x, Numbers&) { return layer_norm(x[0], x[1], x[2]); },
    [](const Tensors& x, Numbers&) { return rms_norm(x[0], x[1]); },
});

}  // namespace

/// Convolutions, pooling and channel normalization, with arbitrary shapes and sizes.
void fuzz_windows(Bytes bytes) { run_operations(kWindows, bytes); }

}  // namespace tape::fuzz
