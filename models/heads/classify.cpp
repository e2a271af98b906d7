#include "models/heads/classify.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/softmax.h"
#include "models/heads/encoder_batches.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

}  // namespace

Tensor label_values(const Tensor& logits, ProblemType problem) {
  switch (problem) {
    case ProblemType::regression:
      return logits;
    case ProblemType::multi_label_classification:
      return sigmoid(logits);
    case ProblemType::single_label_classification:
      break;
  }
  return softmax(logits, -1);
}

std::vector<std::vector<double>> classify(SequenceClassifier& model, std::span<const Ids> sequences,
                                          std::span<const Ids> type_ids, const ClassifyOptions& options) {
  std::vector<std::vector<double>> found(sequences.size());
  for_each_row(
      "classify", *model.base, {sequences, type_ids}, options.batch_tokens,
      [&](const Tensor& ids, const Mask& mask, const Tensor& segments) {
        return label_values(cast(model(ids, mask, segments), f64), model.problem_type());
      },
      [&](size_t place, std::span<const double> row) { found[place].assign(row.begin(), row.end()); });
  return found;
}

std::vector<size_t> ranked_labels(const std::vector<double>& probabilities) {
  std::vector<size_t> labels(probabilities.size());
  std::iota(labels.begin(), labels.end(), size_t{0});
  std::ranges::stable_sort(labels, std::greater<>(), [&](size_t label) { return probabilities[label]; });
  return labels;
}

}  // namespace tape::models
