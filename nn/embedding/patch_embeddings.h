#pragma once

#include "../convolution.h"
#include "../dropout.h"

namespace tape::nn {

struct PatchEmbeddingsOptions {
  SpatialSizes image_size = 224;  ///< height and width
  SpatialSizes patch_size = 16;   ///< divides them
  int64_t channels = 3;
  int64_t d_model = 768;
  double dropout = 0;  ///< of the result
};

/// What a vision Transformer reads: dropout([class; patches] + position). Each patch of P x P pixels and all channels
/// is flattened and projected to C columns, a trained vector, the class, stands in front of them, and each place has a
/// trained position (Dosovitskiy et al. 2021, "An image is worth 16x16 words", equation 1): pixels [B, channels, H, W]
/// -> [B, 1 + (H / P) (W / P), C], patches row by row. The projection is a convolution whose windows do not overlap.
/// Positions and the class start truncated normal with deviation 0.02.
class PatchEmbeddings : public Layer<PatchEmbeddings> {
 public:
  using Options = PatchEmbeddingsOptions;

  /// Error (config) for sizes below 1, and a patch that does not divide the image.
  explicit PatchEmbeddings(const PatchEmbeddingsOptions& options = {});
  /// Error (shape) for pixels of another form: images of other sizes have other positions.
  Tensor forward(const Tensor& pixels);
  /// Error (shape) for pixels that forward() does not take.
  void check_pixels(const Tensor& pixels) const;
  /// Rows and columns of patches.
  std::vector<int64_t> grid() const;
  std::string settings() const override;

  Child<Conv2d> projection;
  Parameter class_token;  ///< [1, 1, C]
  Parameter position;     ///< [1, 1 + patches, C]
  Child<Dropout> dropout;

 private:
  std::vector<int64_t> image_, patch_;
};

}  // namespace tape::nn
