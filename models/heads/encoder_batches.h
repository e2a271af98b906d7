#pragma once

#include <functional>
#include <span>
#include <vector>

#include "../encoders/encoder_model.h"

namespace tape::models {

/// Sequences for an encoder, ids as a tokenizer gives them, with the segments of each or none for all of segment 0.
struct EncoderInput {
  std::span<const std::vector<int64_t>> sequences;
  std::span<const std::vector<int64_t>> type_ids = {};
};

/// What is said of a batch: ids and segments [B, T], the padding hidden, to values [B, ...].
using SayOfBatch = std::function<Tensor(const Tensor& ids, const Mask& mask, const Tensor& segments)>;
/// What becomes of one sequence's: its place, and its row of these in f64, what stands at padding included.
using TakeRow = std::function<void(size_t place, std::span<const double> row)>;

/// Says and takes sequence after sequence in batches of like length, without recording; empty ones are left out.
///
/// Error in the name of `operation`: (shape) for a sequence longer than the model's positions, or segments that do not
/// fit; (index) for an id that is not in its vocabulary; (numeric) for values that are no numbers.
void for_each_row(const char* operation, const EncoderModel& base, const EncoderInput& input, int64_t batch_tokens,
                  const SayOfBatch& say, const TakeRow& take);

}  // namespace tape::models
