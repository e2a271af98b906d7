#include "models/heads/labels.h"

#include <fmt/format.h>

#include "base/check.h"

namespace tape::models {

std::vector<std::string> label_names(const std::vector<std::string>& labels, int64_t num_labels) {
  std::vector<std::string> names = labels;
  for (int64_t i = std::ssize(names); i < num_labels; ++i) names.push_back(fmt::format("LABEL_{}", i));
  return names;
}

void check_labels(const char* owner, const std::vector<std::string>& labels, int64_t num_labels) {
  check_at_least_one(owner, {{"num_labels", num_labels}});
  if (!labels.empty() && std::ssize(labels) != num_labels)
    raise(ErrorKind::config, "{}: {} names for {} labels", owner, labels.size(), num_labels);
}

nn::ClassificationHeadOptions with_dropout(nn::ClassificationHeadOptions options, std::optional<double> dropout) {
  if (dropout) options.dropout = *dropout;
  return options;
}

}  // namespace tape::models
