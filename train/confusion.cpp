#include "train/confusion.h"

#include "base/error.h"

namespace tape::train {

Confusion confusion_of(std::vector<std::string> labels, std::span<const int64_t> truth, std::span<const int64_t> said) {
  if (truth.size() != said.size())
    raise(ErrorKind::shape, "confusion_of: {} labels, {} said", truth.size(), said.size());
  const size_t n = labels.size();
  Confusion confusion{std::move(labels), std::vector<std::vector<int64_t>>(n, std::vector<int64_t>(n))};
  for (size_t i = 0; i < truth.size(); ++i) {
    for (const int64_t label : {truth[i], said[i]})
      if (label < 0 || static_cast<size_t>(label) >= n)
        raise(ErrorKind::index, "confusion_of: example {} has label {}, there are {}", i, label, n);
    ++confusion.counts[static_cast<size_t>(truth[i])][static_cast<size_t>(said[i])];
  }
  return confusion;
}

double accuracy(const Confusion& confusion) {
  int64_t right = 0, all = 0;
  for (size_t row = 0; row < confusion.counts.size(); ++row) {
    right += confusion.counts[row][row];
    for (const int64_t count : confusion.counts[row]) all += count;
  }
  return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

double macro_f1(const Confusion& confusion) {
  double sum = 0, labels = 0;
  for (size_t label = 0; label < confusion.counts.size(); ++label) {
    int64_t both = 0;  // examples of this label, and those said to be
    for (size_t other = 0; other < confusion.counts.size(); ++other)
      both += confusion.counts[label][other] + confusion.counts[other][label];
    if (both == 0) continue;
    sum += 2 * static_cast<double>(confusion.counts[label][label]) / static_cast<double>(both);
    ++labels;
  }
  return labels == 0 ? 0 : sum / labels;
}

}  // namespace tape::train
