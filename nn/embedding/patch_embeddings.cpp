#include "nn/embedding/patch_embeddings.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "base/check.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

std::vector<int64_t> two_sizes(const char* name, const SpatialSizes& sizes) {
  return sizes.of("PatchEmbeddings", name, 2, 1);
}

/// Rows times columns.
int64_t patch_count(const PatchEmbeddingsOptions& o) {
  const std::vector<int64_t> image = two_sizes("image_size", o.image_size),
                             patch = two_sizes("patch_size", o.patch_size);
  for (size_t axis = 0; axis < 2; ++axis)
    if (image[axis] % patch[axis] != 0)
      raise(ErrorKind::config, "PatchEmbeddings: patches {} do not divide an image {}", to_string(Shape(patch)),
            to_string(Shape(image)));
  return (image[0] / patch[0]) * (image[1] / patch[1]);
}

Tensor started(const Shape& shape) { return init::truncated_normal_(empty(shape), {.stddev = 0.02}); }

}  // namespace

PatchEmbeddings::PatchEmbeddings(const PatchEmbeddingsOptions& o)
    : projection(this, "projection", at_least_one("PatchEmbeddings", "channels", o.channels),
                 at_least_one("PatchEmbeddings", "d_model", o.d_model),
                 SpatialSizes(two_sizes("patch_size", o.patch_size)), ConvLayerOptions{.stride = o.patch_size}),
      class_token(this, "class_token", started({1, 1, o.d_model})),
      position(this, "position", started({1, 1 + patch_count(o), o.d_model})),
      dropout(this, "dropout", o.dropout),
      image_(two_sizes("image_size", o.image_size)),
      patch_(two_sizes("patch_size", o.patch_size)) {}

void PatchEmbeddings::check_pixels(const Tensor& pixels) const {
  const int64_t channels = projection->weight.size(1);
  if (pixels.rank() != 4 || !(pixels.shape().slice(1, 4) == Shape{channels, image_[0], image_[1]}))
    raise(ErrorKind::shape, "PatchEmbeddings: pixels must be [B, {}, {}, {}], got {}", channels, image_[0], image_[1],
          to_string(pixels.shape()));
}

Tensor PatchEmbeddings::forward(const Tensor& pixels) {
  check_pixels(pixels);
  const int64_t batch = pixels.size(0), width = projection->weight.size(0);
  // [B, C, H / P, W / P] -> [B, patches, C]
  const Tensor patches = transpose(flatten(projection(pixels), 2), 1, 2);
  return dropout(cat({expand(class_token, {batch, 1, width}), patches}, 1) + position);
}

std::vector<int64_t> PatchEmbeddings::grid() const { return {image_[0] / patch_[0], image_[1] / patch_[1]}; }

std::string PatchEmbeddings::settings() const {
  return fmt::format("image {}, patches {}", to_string(Shape(image_)), to_string(Shape(patch_)));
}

}  // namespace tape::nn
