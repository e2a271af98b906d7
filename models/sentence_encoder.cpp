#include "models/sentence_encoder.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/embedding_loss.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/shape.h"
#include "autograd/tape/scope.h"
#include "models/length_batches.h"
#include "nn/check.h"

namespace tape::models {
namespace {

template <nn::Pooling pooling>
GradcheckReport check_sentence_encoder(const nn::Checker& check) {
  SentenceEncoder model({.encoder = detail::small_bert(), .pooling = pooling, .normalize = true});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 5}}, i64)}, "key.bias");
}

const nn::ModuleCheck mean_of_all("SentenceEncoder", "mean", check_sentence_encoder<nn::Pooling::mean>);
const nn::ModuleCheck first_of_all("SentenceEncoder", "first position", check_sentence_encoder<nn::Pooling::first>);

}  // namespace

SentenceEncoder::SentenceEncoder(const SentenceEncoderConfig& c)
    : base(this, parts_of(c.encoder).family, parts_without_pooler(c.encoder)), config_(c) {}

Tensor SentenceEncoder::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  const Tensor hidden = base(ids, mask, segments);
  const Tensor pooled =
      config_.pooling == nn::Pooling::mean ? nn::mean_pool(hidden, mask) : Tensor(select(hidden, 1, 0));
  return config_.normalize ? normalize(pooled, -1) : pooled;
}

Tensor SentenceEncoder::forward(const Tensor& ids) { return forward(ids, base->padding(ids)); }

Tensor embed(SentenceEncoder& model, std::span<const std::vector<int64_t>> sequences, const EmbedOptions& options) {
  const NoGrad no_grad;
  const int64_t padding = std::max<int64_t>(model.base->options().padding_id, 0);
  std::vector<int64_t> lengths;
  std::vector<std::vector<int64_t>> seen;
  for (const std::vector<int64_t>& ids : sequences) {
    if (std::ssize(ids) > model.base->max_length())
      raise(ErrorKind::shape, "embed: sequence {} has {} tokens, the model {} positions", lengths.size(), ids.size(),
            model.base->max_length());
    lengths.push_back(std::ssize(ids));
    seen.emplace_back(ids.size(), 1);
  }
  Tensor all = zeros({std::ssize(sequences), model.base->width()}, model.parameters().front().dtype());
  for (const std::vector<int64_t>& batch : batches_by_length(lengths, options.batch_tokens)) {
    const Mask mask = Mask::padding(padded_rows(seen, batch, 0), 0);
    const Tensor vectors = model(padded_rows(sequences, batch, padding), mask);
    for (size_t i = 0; i < batch.size(); ++i) {
      const Tensor vector = vectors[static_cast<int64_t>(i)];
      if (!std::isfinite(sum(vector).item<double>()))
        raise(ErrorKind::numeric, "embed: the model gives no numbers for sequence {}", batch[i]);
      all[batch[i]].copy_(vector);
    }
  }
  return all;
}

}  // namespace tape::models
