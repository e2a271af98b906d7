// The task of several examples: output a row of digits in reverse order.
#pragma once

#include <tapeformer.h>

using namespace tape;

constexpr int64_t padding = 0, bos = 1, eos = 2, vocab = 13;  // 3 to 12 are the digits

struct Batch {
  Tensor src, tgt_in, tgt_out;
};

// src [rows, length] with its reversal as the target. tgt_in begins with bos and tgt_out ends with eos, both
// [rows, length + 1].
inline Batch with_reversed(const Tensor& src) {
  const Tensor reversed = flip(src, 1), column = ones({src.size(0), 1}, i64);
  return {src, cat({column * bos, reversed}, 1), cat({reversed, column * eos}, 1)};
}

// Number of rows of src that the model reverses without a mistake.
inline int64_t count_reversed(models::Transformer& model, const Tensor& src) {
  const auto written = models::greedy_decode(model, src, {.bos = bos, .eos = eos, .max_length = src.size(1) + 1});
  int64_t correct = 0;
  for (int64_t row = 0; row < src.size(0); ++row)
    correct += written[static_cast<size_t>(row)] == flip(src[row], 0).to_vector<int64_t>();
  return correct;
}
