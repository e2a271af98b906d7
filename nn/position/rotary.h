#pragma once

#include "../module/child.h"
#include "positions.h"

namespace tape::nn {

/// Which two columns of a head turn together: i and i + R/2, as in GPT-NeoX and Llama, or 2i and 2i + 1, as in RoFormer
/// and GPT-J.
enum class RotaryPairing { halves, interleaved };

struct RotaryOptions {
  RotaryPairing pairing = RotaryPairing::halves;
  double theta = 10000;        ///< the base of the frequencies
  double fraction = 1;         ///< of a head's columns that turn, the first ones: R = fraction D; the others stay
  RotaryScaling scaling = {};  ///< beyond the texts of the training: linear, dynamic, llama3, yarn; none as it is
};

/// Rotary position embedding (Su et al. 2021, "RoFormer", 3.2.2): pair i of a head's columns at position t is turned by
/// the angle a = t w_i, w_i = theta^(-2i/R) or as the scaling changes it, (u, v) -> (u cos a - v sin a,
/// u sin a + v cos a), so that the product of a query and a key depends on their distance alone. x [B, T, H D] with
/// heads side by side -> [B, T, H D].
class Rotary : public Layer<Rotary> {
 public:
  using Options = RotaryOptions;

  /// Error (config) for a width D of a head, or a fraction of it, that cannot be split into pairs, and for a scaling
  /// without meaning.
  explicit Rotary(int64_t head_width, const RotaryOptions& options = {});
  /// Error (shape) for a width that is no multiple of D, and for positions of another shape.
  Tensor forward(const Tensor& x, const Positions& positions = {}) const;
  std::string settings() const override;
  int64_t head_width() const { return head_width_; }
  int64_t rotary_dim() const { return frequencies_.rotary_dim; }  ///< R
  const RotaryOptions& options() const { return options_; }

 private:
  int64_t head_width_;
  RotaryFrequencies frequencies_;
  RotaryOptions options_;
};

}  // namespace tape::nn
