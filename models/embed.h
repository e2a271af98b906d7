#pragma once

#include <span>
#include <vector>

#include "encoder_model.h"

namespace tape::models {

/// One vector a text: ids [B, T] (i64) -> [B, C], the first position's last state or the mean of those that the mask
/// shows. Not normalized. Errors as EncoderModel.
Tensor text_vectors(EncoderModel& model, const Tensor& ids, const Mask& mask, nn::Pooling pooling);

struct EmbedOptions {
  nn::Pooling pooling = nn::Pooling::mean;
  int64_t batch_tokens = 4096;  ///< tokens at once, padding included
};

/// text_vectors() of sequences of length 1 each: their products are cosines. [C] of each sequence, in the order given;
/// zeros for an empty one. Sequences are ids as the tokenizer gives them. They are sorted by length into batches; each
/// gets what it alone would get (up to the rounding of products of another size).
///
/// The model should be in evaluation mode. Error (shape) for a sequence longer than the model's positions; (index) for
/// an id that is not in its vocabulary; (numeric) where the model gives no numbers.
std::vector<std::vector<float>> embed(EncoderModel& model, std::span<const std::vector<int64_t>> sequences,
                                      const EmbedOptions& options = {});

}  // namespace tape::models
