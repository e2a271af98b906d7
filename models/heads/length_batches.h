#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../../autograd/tensor.h"

namespace tape::models {

/// Places 0 .. lengths.size() - 1 in batches of like length, the longest first: rows times the longest of a batch is
/// at most `batch_tokens`, or the batch has one row. Places of length 0 are left out. Error (config) where batch_tokens
/// is less than 1.
std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> lengths, int64_t batch_tokens);

/// Some of the rows, with padding behind: [which, longest] (i64).
Tensor padded_rows(std::span<const std::vector<int64_t>> rows, std::span<const int64_t> which, int64_t padding_id);

}  // namespace tape::models
