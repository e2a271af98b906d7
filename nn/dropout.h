#pragma once

#include "module/child.h"

namespace tape::nn {

/// In training, zeroes each value with probability p and divides the others by 1 - p (Srivastava et al. 2014); in
/// evaluation, returns x. x of any shape, f32 or f64 -> the same shape. Draws from the dropout stream.
class Dropout : public Layer<Dropout> {
 public:
  /// Throws Error (config) unless 0 <= p < 1.
  explicit Dropout(double p = 0.5);
  /// Returns dropout(x, active_probability()).
  Tensor forward(const Tensor& x) const;
  std::string settings() const override;  ///< p, as in "0.1"

  /// Returns the probability in effect: 0 in evaluation.
  double active_probability() const { return is_training() ? p_ : 0; }

 private:
  double p_;
};

}  // namespace tape::nn
