#pragma once

#include <string>
#include <vector>

#include "../../nn/transformer/heads.h"

namespace tape::models {

/// One name a label: LABEL_0, LABEL_1, ... behind those that there are, as transformers has it.
std::vector<std::string> label_names(const std::vector<std::string>& labels, int64_t num_labels);

/// Error (config) in the name of `owner` for fewer than one label, and for names of another number of labels.
void check_labels(const char* owner, const std::vector<std::string>& labels, int64_t num_labels);

/// A head's options with another dropout in front of the classifier, where one is given.
nn::ClassificationHeadOptions with_dropout(nn::ClassificationHeadOptions options, std::optional<double> dropout);

}  // namespace tape::models
