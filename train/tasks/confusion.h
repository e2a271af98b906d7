#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "../runs/events.h"

namespace tape::train {

/// How often a label was taken for which, from the right labels and those said: numbers of names in `labels`. Error
/// (shape) where there are not as many of both; Error (index) for a number without a name.
Confusion confusion_of(std::vector<std::string> labels, std::span<const int64_t> truth, std::span<const int64_t> said);

/// The same where there are few enough labels for a table that people read and a log that stays small; nothing with
/// more than kMostConfusedLabels.
std::optional<Confusion> confusion_to_log(std::vector<std::string> labels, std::span<const int64_t> truth,
                                          std::span<const int64_t> said);
inline constexpr size_t kMostConfusedLabels = 200;

/// Share of examples whose label was said; 0 without examples. Error (shape) as confusion_of().
double accuracy(std::span<const int64_t> truth, std::span<const int64_t> said);

/// Mean over labels of F1 = 2 right / (of this label + said to be of it), so that a rare label counts as much as a
/// frequent one. Labels that no example has and that were never said are left out, as scikit-learn's f1_score does; 0
/// without examples. `labels` is their number. Errors as confusion_of().
double macro_f1(int64_t labels, std::span<const int64_t> truth, std::span<const int64_t> said);

}  // namespace tape::train
