#include "models/heads/token_classifier.h"

#include "autograd/ops/loss/loss.h"
#include "models/heads/labels.h"
#include "nn/init.h"

namespace tape::models {
namespace {

EncoderModelOptions token_base(const TokenClassifierConfig& c) {
  check_labels("TokenClassifier", c.labels, c.num_labels);
  return options_without_pooler(c.encoder);
}

}  // namespace

std::vector<std::string> TokenClassifierConfig::label_names() const { return models::label_names(labels, num_labels); }

TokenClassifier::TokenClassifier(const TokenClassifierConfig& c)
    : base(this, model_options(c.encoder).family, token_base(c)),
      head(this, "head", base->width(), c.num_labels, with_dropout(base->options().token, c.dropout)),
      config_(c) {
  nn::init::start_normal(*head, base->options().init_std);
}

Tensor TokenClassifier::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  return head(base(ids, mask, segments));
}

Tensor TokenClassifier::forward(const Tensor& ids) { return forward(ids, base->padding(ids)); }

Tensor TokenClassifier::loss(const Tensor& logits, const Tensor& labels) const { return cross_entropy(logits, labels); }

}  // namespace tape::models
