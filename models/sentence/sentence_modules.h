#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "../../autograd/mask.h"
#include "../../nn/activation.h"
#include "../../nn/dropout.h"
#include "../../nn/linear.h"
#include "../../nn/norm/layer_norm.h"

/// The modules that sentence-transformers adds after a Transformer: pooling, and modules that change the pooled vector.
namespace tape::models {

/// How the positions of a text become one vector, with the names and formulas of sentence-transformers: the first
/// position, the maximum of each column, the mean, the sum / sqrt(length), the mean with weights 1, 2, 3, ... in the
/// order of the text, the last position.
enum class SentencePooling { cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken };

/// "mean_sqrt_len_tokens"
std::string_view to_string(SentencePooling mode);
/// All modes, in the order in which sentence-transformers concatenates those that "pooling_mode_*" keys enable.
std::span<const SentencePooling> sentence_poolings();

/// hidden [B, T, C] -> [B, modes * C]: the vectors of all modes concatenated, over the positions that the mask keeps,
/// without the first `skipped` of them (a prompt). The weights of weightedmean do count the skipped ones. Only the
/// keep mask [B, 1, 1, T] is used, as made by Mask::padding(). A row with no position left gives zeros, except its
/// first position with cls and -inf with max. Throws Error (shape), and (config) if modes are empty.
Tensor sentence_pool(const Tensor& hidden, const Mask& mask, std::span<const SentencePooling> modes,
                     int64_t skipped = 0);

/// Kind of a SentenceModule.
enum class SentenceModuleKind { dense, layer_norm, dropout, normalize };

/// Options of a SentenceModule. Each applies to the kind that is named.
struct SentenceModuleOptions {
  SentenceModuleKind kind = SentenceModuleKind::normalize;  ///< what the module computes
  int64_t in = 0,                                           ///< dense, layer_norm: width of the input
      out = 0;       ///< dense, layer_norm: width of the output, equal to `in` in the latter
  bool bias = true;  ///< dense
  std::optional<nn::ActivationKind> activation = {};  ///< dense; unset: identity
  bool residual = false;                              ///< dense: adds x, or its projection if the widths differ
  double rate = 0;                                    ///< dropout
};

/// A module after the pooling, x [B, in] -> [B, out]: activation(x weight^T + bias), plus x or residual(x) if enabled;
/// LayerNorm with eps 1e-5; Dropout; or x / |x|.
class SentenceModule : public nn::Layer<SentenceModule> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit SentenceModule(const SentenceModuleOptions& options);
  /// x [B, in] -> [B, out]. Throws the errors of the layers.
  Tensor forward(const Tensor& x);
  /// "dense 768 -> 256, tanh", "normalize"
  std::string settings() const override;
  /// The options given to the constructor.
  const SentenceModuleOptions& options() const { return options_; }

  std::unique_ptr<nn::Child<nn::Linear>> linear,  ///< dense
      residual;  ///< dense: its projection of x, if `residual` is set and the widths differ
  std::unique_ptr<nn::Child<nn::LayerNorm>> norm;   ///< layer_norm
  std::unique_ptr<nn::Child<nn::Dropout>> dropout;  ///< dropout

 private:
  SentenceModuleOptions options_;
};

}  // namespace tape::models
