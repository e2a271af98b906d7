#include "train/init/trained_parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "base/module_path.h"

namespace tape::train {
namespace {

/// A stack's path with a dot, and a layer index in it: "encoder." and 3 for "encoder.layers.3.norm1.weight".
struct LayerName {
  std::string stack;
  int64_t layer = 0;
};

std::optional<LayerName> layer_name(const std::string& name) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = name.find(kLayers);
  if (at == std::string::npos || (at > 0 && name[at - 1] != '.')) return std::nullopt;
  LayerName found{.stack = name.substr(0, at)};
  const auto [rest, failed] =
      std::from_chars(name.data() + at + kLayers.size(), name.data() + name.size(), found.layer);
  if (failed != std::errc() || *rest != '.') return std::nullopt;
  return found;
}

/// Whether a parameter is input to every layer: the source or target embeddings with their positions and norms, and a
/// score bias shared by all layers.
bool below_all(const std::string& name) {
  return name.find("embedding") != std::string::npos || name.find("relative_") != std::string::npos ||
         name.starts_with("src_") || name.starts_with("tgt_");
}

[[noreturn]] void raise_fits_nothing(const char* what, const std::string& pattern, const nn::Module& model) {
  raise(ErrorKind::config, "{}: nothing in the model matches \"{}\"; it has parameters such as {}", what, pattern,
        model.named_parameters().front().name);
}

void check(const RateOptions& options) {
  if (!(options.layer_decay > 0 && options.layer_decay <= 1))
    raise(ErrorKind::config, "layer_decay must be greater than 0 and at most 1, got {}", options.layer_decay);
  for (const PatternRate& rate : options.lr_of)
    if (!(rate.lr >= 0) || std::isinf(rate.lr))
      raise(ErrorKind::config, "lr_of: the rate of \"{}\" must be a number >= 0, got {}", rate.pattern, rate.lr);
}

}  // namespace

LayerOrder::LayerOrder(const nn::Module& model) {
  for (const NamedTensor& named : model.named_parameters()) {
    const auto found = layer_name(named.name);
    if (!found) continue;
    if (!counts_.contains(found->stack)) stacks_.push_back(found->stack);
    int64_t& count = counts_[found->stack];
    count = std::max(count, found->layer + 1);
  }
  for (const auto& [stack, count] : counts_) layers_ += count;
}

int64_t LayerOrder::place(const std::string& name) const {
  const auto own = layer_name(name);
  int64_t below = 0;
  for (const std::string& stack : stacks_) {
    if (own && own->stack == stack) return below + own->layer;
    below += counts_.at(stack);
    const bool within = !own && !stack.empty() && name.starts_with(stack);
    if (within && !below_all(name)) return below - 1;
  }
  return below_all(name) ? -1 : layers_;
}

optim::ParameterGroups parameter_groups(const nn::Module& model, const RateOptions& options) {
  check(options);
  const LayerOrder order(model);
  std::vector<bool> used(options.lr_of.size(), false);
  // Keyed by depth below the top and matching rule; groups with weight decay come first.
  std::map<std::tuple<int64_t, size_t, bool>, optim::ParameterGroup> groups;
  for (const NamedTensor& named : model.named_parameters()) {
    const auto rule = static_cast<size_t>(
        std::ranges::find_if(options.lr_of,
                             [&](const PatternRate& r) { return matches_pattern(named.name, r.pattern); }) -
        options.lr_of.begin());
    const bool has_rule = rule < used.size();
    if (has_rule) used[rule] = true;
    if (!named.tensor.requires_grad()) continue;
    const bool by_layer = !has_rule && options.layer_decay != 1;
    const int64_t below = by_layer ? std::max<int64_t>(order.layers() - 1 - order.place(named.name), 0) : 0;
    const bool plain = named.tensor.rank() <= 1;
    optim::ParameterGroup& group = groups[{-below, rule, plain}];
    group.parameters.push_back(named.tensor);
    group.lr_factor =
        has_rule ? options.lr_of[rule].lr / options.lr : std::pow(options.layer_decay, static_cast<double>(below));
    if (plain) group.weight_decay = 0;
  }
  for (size_t rule = 0; rule < used.size(); ++rule)
    if (!used[rule]) raise_fits_nothing("lr_of", options.lr_of[rule].pattern, model);
  optim::ParameterGroups all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

void freeze_parameters(nn::Module& model, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    bool fits = false;
    for (const NamedTensor& named : model.named_parameters())
      if (matches_pattern(named.name, pattern)) {
        fits = true;
        Tensor(named.tensor).requires_grad_(false);
      }
    if (!fits) raise_fits_nothing("freeze", pattern, model);
  }
  if (model.trainable_parameter_count() == 0) raise(ErrorKind::config, "freeze: nothing is left to train");
}

}  // namespace tape::train
