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
  return {.stride = sizes_of(from),
          .padding = sizes_of(from),
          .dilation = sizes_of(from),
          .ceil_mode = from.byte() % 2 == 1};
}
AvgPoolOptions avg_pool_of(Numbers& from) {
  return {.stride = sizes_of(from),
          .padding = sizes_of(from),
          .ceil_mode = from.byte() % 2 == 1,
          .count_include_pad = from.byte() % 2 == 1};
}

/// In this order: the corpus holds their places.
constexpr std::array kWindows = std::to_array<Operation>({
    [](const Tensors& x, Numbers& from) { return conv1d(x[0], x[1], {}, convolution_of(from)); },
    [](const Tensors& x, Numbers& from) { return conv1d(x[0], x[1], x[2], convolution_of(from)); },
    [](const Tensors& x, Numbers& from) { return conv2d(x[0], x[1], {}, convolution_of(from)); },
    [](const Tensors& x, Numbers& from) { return conv2d(x[0], x[1], x[2], convolution_of(from)); },
    [](const Tensors& x, Numbers& from) {
      const SpatialSizes kernel = sizes_of(from);
      return max_pool1d(x[0], kernel, max_pool_of(from));
    },
    [](const Tensors& x, Numbers& from) {
      const SpatialSizes kernel = sizes_of(from);
      return max_pool2d(x[0], kernel, max_pool_of(from));
    },
    [](const Tensors& x, Numbers& from) {
      const SpatialSizes kernel = sizes_of(from);
      return avg_pool1d(x[0], kernel, avg_pool_of(from));
    },
    [](const Tensors& x, Numbers& from) {
      const SpatialSizes kernel = sizes_of(from);
      return avg_pool2d(x[0], kernel, avg_pool_of(from));
    },
    [](const Tensors& x, Numbers& from) { return adaptive_avg_pool1d(x[0], sizes_of(from)); },
    [](const Tensors& x, Numbers& from) { return adaptive_avg_pool2d(x[0], sizes_of(from)); },
    [](const Tensors& x, Numbers& from) {
      return batch_norm(x[0], x[1].detach().clone(), x[2].detach().clone(), {}, {}, {.training = from.byte() % 2 == 1});
    },
    [](const Tensors& x, Numbers& from) { return group_norm(x[0], from.next(), x[1], x[2]); },
    [](const Tensors& x, Numbers&) { return layer_norm(x[0], x[1], x[2]); },
    [](const Tensors& x, Numbers&) { return rms_norm(x[0], x[1]); },
});

}  // namespace

/// Convolutions, pooling and what normalizes channels, of any shapes and with any sizes.
void fuzz_windows(Bytes bytes) { run_operations(kWindows, bytes); }

}  // namespace tape::fuzz
