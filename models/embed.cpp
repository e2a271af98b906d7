#include "models/embed.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/embedding_loss.h"
#include "autograd/ops/shape.h"
#include "models/length_batches.h"

namespace tape::models {

Tensor text_vectors(EncoderModel& model, const Tensor& ids, const Mask& mask, nn::Pooling pooling) {
  const Tensor hidden = model(ids, mask);  // [B, T, C]
  return pooling == nn::Pooling::mean ? nn::mean_pool(hidden, mask) : select(hidden, 1, 0);
}

std::vector<std::vector<float>> embed(EncoderModel& model, std::span<const std::vector<int64_t>> sequences,
                                      const EmbedOptions& options) {
  const NoGrad no_grad;
  const auto width = static_cast<size_t>(model.width());
  std::vector<std::vector<float>> vectors(sequences.size(), std::vector<float>(width));
  std::vector<int64_t> lengths;
  std::vector<std::vector<int64_t>> seen;
  for (const std::vector<int64_t>& ids : sequences) {
    if (std::ssize(ids) > model.max_length())
      raise(ErrorKind::shape, "embed: sequence {} has {} tokens, the model {} positions", lengths.size(), ids.size(),
            model.max_length());
    lengths.push_back(std::ssize(ids));
    seen.emplace_back(ids.size(), 1);
  }
  const int64_t padding = std::max<int64_t>(model.options().padding_id, 0);
  for (const std::vector<int64_t>& batch : batches_by_length(lengths, options.batch_tokens)) {
    const Mask mask = Mask::padding(padded_rows(seen, batch, 0), 0);
    const Tensor rows =
        cast(normalize(text_vectors(model, padded_rows(sequences, batch, padding), mask, options.pooling)), f32);
    const std::vector<float> values = rows.to_vector<float>();
    for (size_t place = 0; place < batch.size(); ++place) {
      std::vector<float>& vector = vectors[static_cast<size_t>(batch[place])];
      std::copy_n(values.begin() + static_cast<int64_t>(place * width), width, vector.begin());
      if (!std::ranges::all_of(vector, [](float value) { return std::isfinite(value); }))
        raise(ErrorKind::numeric, "embed: the model gives no numbers for sequence {}", batch[place]);
    }
  }
  return vectors;
}

}  // namespace tape::models
