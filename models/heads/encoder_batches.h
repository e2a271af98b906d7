#pragma once

#include <functional>
#include <span>
#include <vector>

#include "../encoders/encoder_model.h"

namespace tape::models {

/// Sequences for an encoder: ids from a tokenizer, and the segments of each; empty type_ids means all 0.
struct EncoderInput {
  std::span<const std::vector<int64_t>> sequences;
  std::span<const std::vector<int64_t>> type_ids = {};
};

/// Computes values [B, ...] of a batch: ids and segments [B, T], with a mask of the padding.
using BatchFunction = std::function<Tensor(const Tensor& ids, const Mask& mask, const Tensor& segments)>;
/// Receives the index of a sequence and its row of the values in f64, including values at padding.
using RowCallback = std::function<void(size_t place, std::span<const double> row)>;

/// Calls `say` on batches of sequences of similar length, without recording, and `take` on each sequence; skips empty
/// ones.
///
/// Throws Error, starting with `operation`: (shape) for a sequence longer than the model's positions, or mismatched
/// segments; (index) for an id outside the vocabulary; (numeric) for NaN or infinite values.
void for_each_row(const char* operation, const EncoderModel& base, const EncoderInput& input, int64_t batch_tokens,
                  const BatchFunction& say, const RowCallback& take);

}  // namespace tape::models
