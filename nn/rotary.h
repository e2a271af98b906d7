#pragma once

#include "module.h"

namespace tape::nn {

/// Which two columns of a head turn together: i and i + R/2, as in GPT-NeoX and Llama, or 2i and 2i + 1, as in RoFormer
/// and GPT-J.
enum class RotaryPairing { halves, interleaved };

struct RotaryOptions {
  RotaryPairing pairing = RotaryPairing::halves;
  double theta = 10000;  ///< the base of the frequencies
  double fraction = 1;   ///< of a head's columns that turn, the first ones: R = fraction D; the others stay
};

/// Rotary position embedding (Su et al. 2021, "RoFormer", 3.2.2): pair i of a head's columns at position t is turned by
/// the angle a = t theta^(-2i/R), (u, v) -> (u cos a - v sin a, u sin a + v cos a), so that the product of a query and
/// a key depends on their distance alone. x [B, T, H D] with heads side by side -> [B, T, H D].
class Rotary : public Layer<Rotary> {
 public:
  /// Error (config) for a width D of a head, or a fraction of it, that cannot be split into pairs.
  explicit Rotary(int64_t head_width, const RotaryOptions& options = {});
  /// `first` is the position of x's first token. Error (shape) for a width that is no multiple of D, (index) where
  /// `first` is negative.
  Tensor forward(const Tensor& x, int64_t first = 0) const;
  std::string settings() const override;
  int64_t head_width() const { return head_width_; }
  int64_t turned() const { return turned_; }  ///< R
  const RotaryOptions& options() const { return options_; }

 private:
  int64_t head_width_, turned_;
  RotaryOptions options_;
};

}  // namespace tape::nn
