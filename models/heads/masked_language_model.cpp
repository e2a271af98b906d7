#include "models/heads/masked_language_model.h"

#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"
#include "nn/init.h"

namespace tape::models {

MaskedLanguageModel::MaskedLanguageModel(const EncoderConfig& c)
    : base(this, model_options(c).family, options_without_pooler(c)),
      head(this, "head", base->width(), base->vocab(), base->options().masked_token),
      config_(c) {
  nn::init::start_normal(*head, base->options().init_std);
  head->decoder->weight.tie(base->embeddings->token->weight);
}

Tensor MaskedLanguageModel::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  return head(base(ids, mask, segments));
}

Tensor MaskedLanguageModel::forward(const Tensor& ids) { return forward(ids, base->padding(ids)); }

Tensor MaskedLanguageModel::at(const Tensor& ids, const Mask& mask, const Tensor& places) {
  const Tensor hidden = reshape(base(ids, mask), {ids.size(0) * ids.size(1), base->width()});  // [B T, C]
  return head(index_select(hidden, 0, places));                                                // [N, V]
}

Tensor MaskedLanguageModel::loss(const Tensor& logits, const Tensor& labels) const {
  return cross_entropy(logits, labels);
}

}  // namespace tape::models
