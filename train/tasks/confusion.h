#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "../runs/events.h"

namespace tape::train {

/// Confusion matrix of true and predicted labels, given as indices in `labels`. Throws Error (shape) if their counts
/// differ; Error (index) for an index out of range.
Confusion confusion_of(std::vector<std::string> labels, std::span<const int64_t> truth,
                       std::span<const int64_t> predicted);

/// The same if the table is small enough to read and to log; nullopt with more than kMostConfusedLabels.
std::optional<Confusion> confusion_to_log(std::vector<std::string> labels, std::span<const int64_t> truth,
                                          std::span<const int64_t> predicted);
inline constexpr size_t kMostConfusedLabels = 200;

/// Share of examples with a correct label; 0 without examples. Throws Error (shape) as confusion_of().
double accuracy(std::span<const int64_t> truth, std::span<const int64_t> predicted);

/// Macro F1: the mean over labels of 2 correct / (examples of the label + predictions of it), so that rare labels count
/// as much as frequent ones. Labels that occur in neither are ignored, as in scikit-learn's f1_score; 0 without
/// examples. `labels` is the number of labels. Errors as confusion_of().
double macro_f1(int64_t labels, std::span<const int64_t> truth, std::span<const int64_t> predicted);

}  // namespace tape::train
