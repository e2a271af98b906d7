#include "models/sequence_classifier.h"

#include "autograd/create.h"
#include "autograd/random.h"
#include "base/check.h"
#include "nn/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

template <nn::Pooling pooling>
GradcheckReport check_small(const nn::Checker& check) {
  manual_seed(1);
  SequenceClassifier model({.bert = detail::small_bert(), .num_labels = 3, .pooling = pooling});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 5}}, i64)}, "key.bias");
}

const nn::ModuleCheck first_check("SequenceClassifier", "first position", check_small<nn::Pooling::first>);
const nn::ModuleCheck mean_check("SequenceClassifier", "mean", check_small<nn::Pooling::mean>);

SequenceClassifierConfig completed(SequenceClassifierConfig c) {
  check_at_least_one("SequenceClassifier", {{"num_labels", c.num_labels}});
  if (!c.labels.empty() && std::ssize(c.labels) != c.num_labels)
    raise(ErrorKind::config, "SequenceClassifier: {} names for {} labels", c.labels.size(), c.num_labels);
  c.bert.pooler = c.pooling == nn::Pooling::first;
  return c;
}

}  // namespace

std::vector<std::string> SequenceClassifierConfig::label_names() const {
  std::vector<std::string> names = labels;
  for (int64_t i = std::ssize(names); i < num_labels; ++i) names.push_back(fmt::format("LABEL_{}", i));
  return names;
}

SequenceClassifier::SequenceClassifier(const SequenceClassifierConfig& c)
    : bert(this, "bert", completed(c).bert),
      head(this, "head", c.bert.d_model, c.num_labels, c.dropout.value_or(c.bert.dropout)),
      config_(completed(c)) {
  nn::init::start_normal(*head, c.bert.init_std);
}

Tensor SequenceClassifier::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  const Tensor hidden = bert(ids, mask, segments);
  if (config_.pooling == nn::Pooling::mean) return head(nn::mean_pool(hidden, mask));
  return head(bert.run([&](Bert& b) { return b.pool(hidden); }));
}

Tensor SequenceClassifier::forward(const Tensor& ids) {
  return forward(ids, Mask::padding(ids, config_.bert.padding_id));
}

}  // namespace tape::models
