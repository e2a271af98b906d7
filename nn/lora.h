#pragma once

#include "dropout.h"

namespace tape::nn {

struct LoraOptions {
  int64_t rank = 8;
  double alpha = 8;              ///< the change is scaled by alpha / rank
  double dropout = 0;            ///< of the change's input
  bool rank_stabilized = false;  ///< alpha / sqrt(rank) in its place (Kalajdzievski 2023, "rsLoRA")
  bool decomposed = false;       ///< DoRA: the magnitude of each output is trained apart from its direction
};

/// What low-rank adaptation adds to a Linear y = x W^T + b of W [out, in] (Hu et al. 2021, "LoRA", 4.1):
///
///     s dropout(x) A^T B^T,  A [r, in], B [out, r], s = alpha / r
///
/// so that the weight becomes W + s B A while W itself stays. A starts uniform in +- 1 / sqrt(in), B at zero: at the
/// start nothing is changed. `decomposed` is DoRA (Liu et al. 2024, equations 5 and 11): the weight becomes
/// m / |W + s B A| (W + s B A), with the norms of rows, which are constants in the backward, and m [out] trained, the
/// norms of W at the start.
///
/// Linear::add_adapter() makes one; the layer's owner does not know of it.
class Lora : public Layer<Lora> {
 public:
  using Options = LoraOptions;

  /// Error (config) unless 1 <= rank, 0 < alpha and 0 <= dropout < 1.
  Lora(const Tensor& weight, const LoraOptions& options);

  /// What is added to y = x weight^T + bias: x [..., in], y [..., out] -> [..., out].
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias);
  /// The weight that the layer with this change has: W [out, in] -> [out, in].
  Tensor merged(const Tensor& weight) const;

  double scale() const;  ///< s
  const LoraOptions& options() const { return options_; }
  std::string settings() const override;

  bool active = true;  ///< whether the layer adds it
  Parameter A, B, magnitude;

 private:
  Tensor changed(const Tensor& weight) const;  // W + s B A

  Child<Dropout> dropout_;
  LoraOptions options_;
};

}  // namespace tape::nn
