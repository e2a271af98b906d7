#include "models/classify.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/softmax.h"
#include "autograd/ops/unary.h"
#include "models/length_batches.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

void check(const EncoderModel& base, std::span<const Ids> sequences, std::span<const Ids> type_ids) {
  if (!type_ids.empty() && type_ids.size() != sequences.size())
    raise(ErrorKind::shape, "classify: {} lists of segments for {} sequences", type_ids.size(), sequences.size());
  for (size_t row = 0; row < sequences.size(); ++row) {
    const Ids& ids = sequences[row];
    if (std::ssize(ids) > base.max_length())
      raise(ErrorKind::shape, "classify: sequence {} has {} tokens, the model {} positions", row, ids.size(),
            base.max_length());
    if (!type_ids.empty() && type_ids[row].size() != ids.size())
      raise(ErrorKind::shape, "classify: sequence {} has {} tokens and {} segments", row, ids.size(),
            type_ids[row].size());
    for (size_t t = 0; t < ids.size(); ++t)
      if (ids[t] < 0 || ids[t] >= base.vocab())
        raise(ErrorKind::index, "classify: sequence {} has id {} at position {}, which is not in 0..{}", row, ids[t], t,
              base.vocab() - 1);
  }
}

Tensor said_of(const SequenceClassifier& model, const Tensor& logits) {
  switch (model.problem_type()) {
    case ProblemType::regression:
      return logits;
    case ProblemType::multi_label_classification:
      return sigmoid(logits);
    case ProblemType::single_label_classification:
      break;
  }
  return softmax(logits, -1);
}

}  // namespace

std::vector<std::vector<double>> classify(SequenceClassifier& model, std::span<const Ids> sequences,
                                          std::span<const Ids> type_ids, const ClassifyOptions& options) {
  const int64_t padding = std::max<int64_t>(model.base->options().padding_id, 0);
  check(*model.base, sequences, type_ids);
  const NoGrad no_grad;
  std::vector<std::vector<double>> found(sequences.size());
  Ids lengths;
  std::vector<Ids> seen;
  for (const Ids& ids : sequences) {
    lengths.push_back(std::ssize(ids));
    seen.emplace_back(ids.size(), 1);
  }
  for (const Ids& batch : batches_by_length(lengths, options.batch_tokens)) {
    const Mask mask = Mask::padding(padded_rows(seen, batch, 0), 0);
    const Tensor segments = type_ids.empty() ? Tensor() : padded_rows(type_ids, batch, 0);
    const Tensor logits = model(padded_rows(sequences, batch, padding), mask, segments);
    const std::vector<double> p = said_of(model, cast(logits, f64)).to_vector<double>();
    for (size_t place = 0; place < batch.size(); ++place) {
      const auto first = p.begin() + static_cast<int64_t>(place) * logits.size(1);
      auto& of_row = found[static_cast<size_t>(batch[place])];
      of_row.assign(first, first + logits.size(1));
      for (const double value : of_row)
        if (!std::isfinite(value))
          raise(ErrorKind::numeric, "classify: the model gives no numbers for sequence {}", batch[place]);
    }
  }
  return found;
}

std::vector<size_t> ranked_labels(const std::vector<double>& probabilities) {
  std::vector<size_t> labels(probabilities.size());
  std::iota(labels.begin(), labels.end(), size_t{0});
  std::ranges::stable_sort(labels, std::greater<>(), [&](size_t label) { return probabilities[label]; });
  return labels;
}

}  // namespace tape::models
