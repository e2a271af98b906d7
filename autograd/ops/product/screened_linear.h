#pragma once

#include <vector>

#include "../../tensor.h"

namespace tape {

/// Of some rows of x, the scores of all words that may be among the largest of any of them.
struct ScreenedRows {
  Tensor words;   ///< [n] (i64), which rows of the weight, in order
  Tensor scores;  ///< [rows, n], as linear() gives them, bit for bit
};

/// linear(x, weight, bias) of the first `words` rows of the weight, without most words that are not among the `top`
/// largest of their row; rows of x [..., in] in order, some at a time. Nothing where the whole product is to be made:
/// where the weight is not kept in 8 bits (read_rounded()), or not multiplied faster so, where many words may be among
/// the largest (so they are of several rows, unless top is 1), and in a Composed scope.
std::vector<ScreenedRows> screened_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t top,
                                          int64_t words);

}  // namespace tape
