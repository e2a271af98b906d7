#pragma once

#include "dropout.h"

namespace tape::nn {

/// Options of Lora.
struct LoraOptions {
  int64_t rank = 8;              ///< r, at least 1
  double alpha = 8;              ///< the change is scaled by alpha / rank
  double dropout = 0;            ///< on the adapter's input
  bool rank_stabilized = false;  ///< scales by alpha / sqrt(rank) instead (Kalajdzievski 2023, "rsLoRA")
  bool decomposed = false;       ///< DoRA: trains the magnitude of each output separately from its direction
};

/// Low-rank adapter of a Linear y = x W^T + b with W [out, in] (Hu et al. 2021, "LoRA", section 4.1). It adds
///
///     s dropout(x) A^T B^T,  A [r, in], B [out, r], s = alpha / r
///
/// so that the effective weight is W + s B A while W stays frozen. A is initialized uniformly in +- 1 / sqrt(in), B to
/// zero, so that the layer starts unchanged. `decomposed` is DoRA (Liu et al. 2024, equations 5 and 11): the effective
/// weight is m / |W + s B A| (W + s B A), with row norms, which are constants in the backward pass, and a trained
/// m [out] that starts as the row norms of W.
///
/// Created by Linear::add_adapter(); the module that owns the Linear does not change.
class Lora : public Layer<Lora> {
 public:
  using Options = LoraOptions;  ///< lets Child take options in braces

  /// Throws Error (config) unless 1 <= rank, 0 < alpha and 0 <= dropout < 1.
  Lora(const Tensor& weight, const LoraOptions& options);

  /// Returns the change to add to y = x weight^T + bias: x [..., in], y [..., out] -> [..., out].
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias);
  /// Returns the effective weight of the adapted layer: W [out, in] -> [out, in].
  Tensor merged(const Tensor& weight) const;

  double scale() const;                                    ///< s
  const LoraOptions& options() const { return options_; }  ///< as the constructor was given
  std::string settings() const override;                   ///< as in "rank 8, scale 2, DoRA"

  bool active = true;  ///< whether the layer uses this adapter
  Parameter A,         ///< [r, in]
      B,               ///< [out, r]
      magnitude;       ///< m [out]; undefined without `decomposed`

 private:
  Tensor changed(const Tensor& weight) const;  // W + s B A

  Child<Dropout> dropout_;
  LoraOptions options_;
};

}  // namespace tape::nn
