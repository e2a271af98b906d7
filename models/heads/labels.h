#pragma once

#include <string>
#include <vector>

#include "../../nn/transformer/heads.h"

namespace tape::models {

/// One name per label: the given ones, then LABEL_n for the rest, as in transformers.
std::vector<std::string> label_names(const std::vector<std::string>& labels, int64_t num_labels);

/// Throws Error (config), starting with `owner`, for fewer than one label, or a different number of names.
void check_labels(const char* owner, const std::vector<std::string>& labels, int64_t num_labels);

/// A head's options with the given dropout before the classifier, if set.
nn::ClassificationHeadOptions with_dropout(nn::ClassificationHeadOptions options, std::optional<double> dropout);

}  // namespace tape::models
