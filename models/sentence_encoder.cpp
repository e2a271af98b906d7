#include "models/sentence_encoder.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/embedding_loss.h"
#include "autograd/ops/shape.h"
#include "models/encoder_batches.h"
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
  const int64_t width = model.base->width();
  Tensor all = zeros({std::ssize(sequences), width}, f64);
  double* rows = all.mutable_data<double>();
  for_each_row(
      "embed", *model.base, {sequences}, options.batch_tokens,
      [&](const Tensor& ids, const Mask& mask, const Tensor& segments) { return model(ids, mask, segments); },
      [&](size_t place, std::span<const double> row) {
        std::ranges::copy(row, rows + static_cast<int64_t>(place) * width);
      });
  return all.to(model.parameters().front().dtype());
}

}  // namespace tape::models
