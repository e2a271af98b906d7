#include "train/tasks/confusion.h"

#include "base/error.h"

namespace tape::train {
namespace {

void check_pairs(std::span<const int64_t> truth, std::span<const int64_t> predicted) {
  if (truth.size() != predicted.size())
    raise(ErrorKind::shape, "confusion_of: {} labels, {} predictions", truth.size(), predicted.size());
}

void check_labels(size_t labels, std::span<const int64_t> truth, std::span<const int64_t> predicted) {
  check_pairs(truth, predicted);
  for (size_t i = 0; i < truth.size(); ++i)
    for (const int64_t label : {truth[i], predicted[i]})
      if (label < 0 || static_cast<size_t>(label) >= labels)
        raise(ErrorKind::index, "confusion_of: example {} has label {}, but only {} labels exist", i, label, labels);
}

}  // namespace

Confusion confusion_of(std::vector<std::string> labels, std::span<const int64_t> truth,
                       std::span<const int64_t> predicted) {
  const size_t n = labels.size();
  check_labels(n, truth, predicted);
  Confusion confusion{std::move(labels), std::vector<std::vector<int64_t>>(n, std::vector<int64_t>(n))};
  for (size_t i = 0; i < truth.size(); ++i)
    ++confusion.counts[static_cast<size_t>(truth[i])][static_cast<size_t>(predicted[i])];
  return confusion;
}

std::optional<Confusion> confusion_to_log(std::vector<std::string> labels, std::span<const int64_t> truth,
                                          std::span<const int64_t> predicted) {
  if (labels.size() > kMostConfusedLabels) return std::nullopt;
  return confusion_of(std::move(labels), truth, predicted);
}

double accuracy(std::span<const int64_t> truth, std::span<const int64_t> predicted) {
  check_pairs(truth, predicted);
  int64_t right = 0;
  for (size_t i = 0; i < truth.size(); ++i) right += truth[i] == predicted[i] ? 1 : 0;
  return truth.empty() ? 0 : static_cast<double>(right) / static_cast<double>(truth.size());
}

double macro_f1(int64_t labels, std::span<const int64_t> truth, std::span<const int64_t> predicted) {
  const auto n = static_cast<size_t>(labels);
  check_labels(n, truth, predicted);
  std::vector<int64_t> right(n), both(n);  // both: examples with this label + predictions of it
  for (size_t i = 0; i < truth.size(); ++i) {
    ++both[static_cast<size_t>(truth[i])];
    ++both[static_cast<size_t>(predicted[i])];
    if (truth[i] == predicted[i]) ++right[static_cast<size_t>(truth[i])];
  }
  double sum = 0, seen = 0;
  for (size_t label = 0; label < n; ++label) {
    if (both[label] == 0) continue;
    sum += 2 * static_cast<double>(right[label]) / static_cast<double>(both[label]);
    ++seen;
  }
  return seen == 0 ? 0 : sum / seen;
}

}  // namespace tape::train
