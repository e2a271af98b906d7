#pragma once

#include "../module/child.h"

namespace tape::nn {

/// Column order of sines and cosines: interleaved, as in the paper, or sines in the first half of the columns and
/// cosines in the second, as in Marian's models. fairseq (M2M100, NLLB) also uses halves, with frequencies that reach
/// 1/10000 in the last column: w_i = 10000^(-i/(C/2 - 1)), C even and at least 4. (These models also skip padding when
/// they count positions; see PositionalEncoding::at().)
enum class SinusoidLayout { interleaved, halves, fairseq };

/// Options of PositionalEncoding.
struct PositionalEncodingOptions {
  SinusoidLayout layout = SinusoidLayout::interleaved;  ///< column order
  int64_t offset = 0;                                   ///< position of the first row
};

/// x + P with sin(w_i t) and cos(w_i t), w_i = 10000^(-2i/C), in columns 2i and 2i + 1 of P[t] (Vaswani et al. 2017,
/// section 3.5), or in columns i and ceil(C/2) + i with halves: x [..., T, C] -> [..., T, C]. The table is a buffer
/// that is not saved; shorter sequences use its first rows.
class PositionalEncoding : public Layer<PositionalEncoding> {
 public:
  using Options = PositionalEncodingOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for sizes below 1, a negative offset, or a width that fairseq's layout does not allow.
  PositionalEncoding(int64_t d_model, int64_t max_length, const PositionalEncodingOptions& options = {});
  /// `first` is the position of x's first token. Throws Error (shape) beyond the table or for another width, Error
  /// (dtype) if the dtype differs from the table's.
  Tensor forward(const Tensor& x, int64_t first = 0) const;
  /// Takes a position for each token of x [B, T, C]: positions [B, T] (i64), counted from the table's first row.
  /// Nothing is added where a position is negative, for example at padding. Throws Error (shape) beyond the table or
  /// for positions of another shape.
  Tensor at(const Tensor& x, const Tensor& positions) const;
  std::string settings() const override;  ///< as in "512, at most 128 positions, halves"

  Buffer table;  ///< [max_length, C]

 protected:
  /// Computes the table again in this dtype.
  void dtype_changed(DType dtype) override;

 private:
  PositionalEncodingOptions options_;
};

/// Options of LearnedPositionalEncoding.
struct LearnedPositionalEncodingOptions {
  int64_t offset = 0;  ///< number of table rows before the row of position 0
};

/// x + weight[offset + t] with a trained row for each position t (Gehring et al. 2017, Devlin et al. 2019): x [..., T,
/// C] -> [..., T, C]; weight [offset + max_length, C], initialized normally with standard deviation 0.02. Rows before
/// the offset belong to no position; BART's tables have two.
class LearnedPositionalEncoding : public Layer<LearnedPositionalEncoding> {
 public:
  using Options = LearnedPositionalEncodingOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for sizes below 1 or a negative offset.
  LearnedPositionalEncoding(int64_t d_model, int64_t max_length, const LearnedPositionalEncodingOptions& options = {});
  /// `first` is the position of x's first token. Throws Error (shape) beyond the table or for another width, Error
  /// (dtype) if the dtype differs from the table's.
  Tensor forward(const Tensor& x, int64_t first = 0) const;
  int64_t offset() const { return offset_; }  ///< table row of position 0
  std::string settings() const override;      ///< as in "512, at most 128 positions, from row 2 on"

  Parameter weight;  ///< [offset + max_length, C]

 private:
  int64_t offset_;
};

}  // namespace tape::nn
