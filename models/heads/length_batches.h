#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../../autograd/tensor.h"

namespace tape::models {

/// Indices 0 .. lengths.size() - 1 in batches of similar length, longest first: rows times the longest length of a
/// batch is at most `batch_tokens`, or the batch has one row. Skips indices of length 0. Throws Error (config) if
/// batch_tokens is less than 1.
std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> lengths, int64_t batch_tokens);

/// The selected rows, padded on the right: [which, longest] (i64).
Tensor padded_rows(std::span<const std::vector<int64_t>> rows, std::span<const int64_t> which, int64_t padding_id);

}  // namespace tape::models
