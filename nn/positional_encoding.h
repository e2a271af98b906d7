#pragma once

#include "nn/module.h"

namespace tape::nn {

/// x + P, P[t, 2i] = sin(t / 10000^(2i/C)), P[t, 2i+1] = cos(t / 10000^(2i/C)) (Vaswani et al. 2017, 3.5):
/// x [B, T, C] -> [B, T, C]. The table is a buffer that is not saved; shorter sequences use its first rows.
class PositionalEncoding : public Layer<PositionalEncoding> {
 public:
  explicit PositionalEncoding(int64_t d_model, int64_t max_length = 5000);
  /// `first` is the position of x's first token. Error (shape) beyond the table.
  Tensor forward(const Tensor& x, int64_t first = 0) const;
  std::string settings() const override;

  Buffer table;  ///< [max_length, C]

 protected:
  void dtype_changed(DType dtype) override;
};

}  // namespace tape::nn
