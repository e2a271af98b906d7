#include "inspect/explorer/parts.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/order.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLikeliest = 10;
constexpr int64_t kSmallVocabulary = 128;  // up to this size all scores are stored

/// The likeliest tokens of each row in descending order: ten, followed by the target if it is not among them, otherwise
/// by the eleventh.
Tensor shown_tokens(const Prediction& prediction) {
  const NoGrad no_grad;
  const Tensor logits = score_rows(prediction.logits);
  const int64_t count = std::min(kLikeliest + 1, logits.size(1));
  std::vector<int64_t> tokens = topk(logits, count).indices.to_vector<int64_t>();
  for (size_t row = 0; row < prediction.targets.size(); ++row) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(row) * count, end = begin + count;
    if (std::find(begin, end, prediction.targets[row]) == end) *(end - 1) = prediction.targets[row];
  }
  return from_vector(tokens, {logits.size(0), count});
}

/// logsumexp of each row over the whole vocabulary.
std::vector<double> log_sums(const Tensor& logits) {
  const NoGrad no_grad;
  return logsumexp(cast(score_rows(logits), f64), -1).to_vector<double>();
}

Json chosen(const Tensor& tensor, const Tensor& tokens) {
  if (!tensor.defined()) return nullptr;
  const NoGrad no_grad;
  return tensor_json(gather(score_rows(tensor), 1, tokens));
}

Json prediction_json(const Recording& recording, size_t output) {
  const Prediction& prediction = *recording.outputs()[output].prediction;
  const Study& study = recording.study();
  const Tensor tokens = shown_tokens(prediction);
  const size_t place = recording.index_of(prediction.logits.impl().node.get());
  const Axes& axes = recording.operations()[place].axes[prediction.logits.impl().output];
  const Axis rows = axes.size() > 1 ? axes[axes.size() - 2] : Axis();
  Json names = Json::object(), gradients = Json::array();
  const std::vector<int64_t> ids = tokens.to_vector<int64_t>();
  for (const int64_t id : ids) names[std::to_string(id)] = study.token ? study.token(id) : std::to_string(id);
  for (const Tensor& gradient : recording.score_gradients()[output]) gradients.push_back(chosen(gradient, tokens));
  return {{"node", place},
          {"text", rows.kind == Axis::Kind::tokens ? Json(rows.text) : Json(nullptr)},
          {"start", rows.start},
          {"classes", prediction.classes},
          {"rows", prediction.rows.empty() ? Json(nullptr) : Json(prediction.rows)},
          {"vocabulary", prediction.logits.size(-1)},
          {"targets", prediction.targets},
          {"tokens", ids},
          {"names", std::move(names)},
          {"log_sums", log_sums(prediction.logits)},
          {"logits", chosen(prediction.logits, tokens)},
          {"gradients", std::move(gradients)}};
}

}  // namespace

Tensor score_rows(const Tensor& scores) {
  const NoGrad no_grad;
  return reshape(scores.detach(), Shape{scores.numel() / scores.size(-1), scores.size(-1)});
}

std::vector<int64_t> kept_vocabulary(const Prediction& prediction) {
  const int64_t width = prediction.logits.size(-1);
  std::vector<int64_t> all;
  if (width <= kSmallVocabulary) return all;
  std::set<int64_t> kept(prediction.targets.begin(), prediction.targets.end());
  const Tensor tokens = shown_tokens(prediction);
  const std::vector<int64_t> ids = tokens.to_vector<int64_t>();
  const auto count = static_cast<size_t>(tokens.size(1));
  for (size_t rank = 0; rank < count; ++rank)
    for (size_t i = rank; i < ids.size() && std::ssize(kept) < kSmallVocabulary; i += count) kept.insert(ids[i]);
  all.assign(kept.begin(), kept.end());
  return all;
}

Json predictions_json(const Recording& recording) {
  Json list = Json::array();
  for (size_t i = 0; i < recording.outputs().size(); ++i)
    list.push_back(recording.outputs()[i].prediction ? prediction_json(recording, i) : Json(nullptr));
  return list;
}

}  // namespace tape::inspect
