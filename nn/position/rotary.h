#pragma once

#include "../module/child.h"
#include "positions.h"

namespace tape::nn {

/// Column pairs of a head that rotate together: i and i + R/2, as in GPT-NeoX and Llama, or 2i and 2i + 1, as in
/// RoFormer and GPT-J.
enum class RotaryPairing { halves, interleaved };

/// Options of Rotary.
struct RotaryOptions {
  RotaryPairing pairing = RotaryPairing::halves;  ///< which columns rotate together
  double theta = 10000;                           ///< base of the frequencies
  double fraction = 1;                            ///< share of a head's columns that rotate, the first R = fraction D
  RotaryScaling scaling = {};  ///< extends the context length: linear, dynamic, llama3, yarn; none by default
};

/// Rotary position embedding (Su et al. 2021, "RoFormer", section 3.2.2): pair i of a head's columns at position t is
/// rotated by the angle a = t w_i, w_i = theta^(-2i/R) or as scaled, (u, v) -> (u cos a - v sin a, u sin a + v cos a),
/// so that the product of a query and a key depends only on their distance. x [B, T, H D] with heads side by side ->
/// [B, T, H D].
class Rotary : public Layer<Rotary> {
 public:
  using Options = RotaryOptions;  ///< lets Child take options in braces

  /// Throws Error (config) if the head width D, or the fraction of it, cannot be split into pairs, and for invalid
  /// scaling settings.
  explicit Rotary(int64_t head_width, const RotaryOptions& options = {});
  /// Throws Error (shape) if the width is not a multiple of D, or for positions of another shape.
  Tensor forward(const Tensor& x, const Positions& positions = {}) const;
  std::string settings() const override;                          ///< as in "64 of 64 columns, halves, theta 10000"
  int64_t head_width() const { return head_width_; }              ///< D
  int64_t rotary_dim() const { return frequencies_.rotary_dim; }  ///< R
  /// Returns the options that the constructor was given.
  const RotaryOptions& options() const { return options_; }

 private:
  int64_t head_width_;
  RotaryFrequencies frequencies_;
  RotaryOptions options_;
};

}  // namespace tape::nn
