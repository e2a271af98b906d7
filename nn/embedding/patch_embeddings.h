#pragma once

#include "../convolution.h"
#include "../dropout.h"

namespace tape::nn {

/// Options of PatchEmbeddings. The defaults are ViT-B/16's.
struct PatchEmbeddingsOptions {
  SpatialSizes image_size = 224;  ///< height and width
  SpatialSizes patch_size = 16;   ///< must divide image_size
  int64_t channels = 3;           ///< of the pixels
  int64_t d_model = 768;          ///< C, the width of a patch embedding
  double dropout = 0;             ///< on the result
};

/// Input embeddings of a vision Transformer: dropout([class; patches] + position). Each patch of P x P pixels and all
/// channels is flattened and projected to C columns, a trained class vector is prepended, and each position has a
/// trained embedding (Dosovitskiy et al. 2021, "An image is worth 16x16 words", equation 1): pixels [B, channels, H, W]
/// -> [B, 1 + (H / P) (W / P), C], patches row by row. The projection is a convolution with stride P. Positions and
/// class are initialized truncated normal with standard deviation 0.02.
class PatchEmbeddings : public Layer<PatchEmbeddings> {
 public:
  using Options = PatchEmbeddingsOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for sizes below 1, or if the patch size does not divide the image size.
  explicit PatchEmbeddings(const PatchEmbeddingsOptions& options = {});
  /// Throws Error (shape) for pixels of another shape: position embeddings are specific to the image size.
  Tensor forward(const Tensor& pixels);
  /// Throws Error (shape) for pixels that forward() would reject.
  void check_pixels(const Tensor& pixels) const;
  /// Returns the rows and columns of patches.
  std::vector<int64_t> grid() const;
  std::string settings() const override;  ///< as in "image [224, 224], patches [16, 16]"

  Child<Conv2d> projection;  ///< of each patch: kernel and stride P
  Parameter class_token;     ///< [1, 1, C]
  Parameter position;        ///< [1, 1 + patches, C]
  Child<Dropout> dropout;    ///< on the result

 private:
  std::vector<int64_t> image_, patch_;
};

}  // namespace tape::nn
