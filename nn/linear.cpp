#include "nn/linear.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/loss/linear_cross_entropy.h"
#include "autograd/ops/product/matmul.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

Shape linear_shape(int64_t in, int64_t out) {
  if (in < 1 || out < 1) raise(ErrorKind::config, "Linear: sizes must be at least 1, got {} -> {}", in, out);
  return {out, in};
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, const LinearOptions& options)
    : weight(this, "weight", empty(linear_shape(in, out))), bias(this, "bias", options.bias ? zeros({out}) : Tensor()) {
  init::xavier_uniform_(weight);
}

Tensor Linear::forward(const Tensor& x) const {
  Tensor y = linear(x, weight, bias);
  if (adapters_.empty() || is_merged()) return y;
  Tensor changed = y;
  for (const auto& adapter : adapters_)
    if ((*adapter)->active) changed = changed + (*adapter)(x, y, weight, bias);
  return changed;
}

Tensor Linear::cross_entropy(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options) const {
  if (adapters_.empty() || is_merged()) return linear_cross_entropy(x, weight, bias, target, options);
  return tape::cross_entropy(forward(x), target, options);
}

TopK Linear::max_with_index(const Tensor& x, int64_t vocab_limit) const {
  if (adapters_.empty() || is_merged()) return linear_max(x, weight, bias, vocab_limit);
  const NoGrad no_grad;
  return tape::max_with_index(forward(x), vocab_limit);
}

Tensor Linear::top_k(const Tensor& x, int64_t k, int64_t vocab_limit) const {
  if (adapters_.empty() || is_merged()) return linear_top_k(x, weight, bias, k, vocab_limit);
  const NoGrad no_grad;
  return keep_top_k(forward(x), k, vocab_limit);
}

Lora& Linear::add_adapter(const std::string& name, const LoraOptions& options) {
  if (name.empty() || name.find('.') != std::string::npos)
    raise(ErrorKind::config, "add_adapter: \"{}\" is not a valid adapter name: it is empty or contains a dot", name);
  if (is_merged()) raise(ErrorKind::config, "add_adapter: \"{}\": other adapters are merged into the weight", name);
  auto child = std::make_unique<Child<Lora>>(this, "lora." + name, weight, options);
  (*child)->train(is_training());
  return **adapters_.emplace_back(std::move(child));
}

Lora* Linear::adapter(const std::string& name) {
  const std::string path = "lora." + name;
  for (const auto& adapter : adapters_)
    if ((*adapter)->name() == path) return &**adapter;
  return nullptr;
}

std::vector<std::string> Linear::adapter_names() const {
  std::vector<std::string> names;
  names.reserve(adapters_.size());
  for (const auto& adapter : adapters_) names.push_back((*adapter)->name().substr(std::string_view("lora.").size()));
  return names;
}

void Linear::remove_adapter(const std::string& name) {
  Lora* const gone = adapter(name);
  if (!gone) raise(ErrorKind::config, "remove_adapter: there is no adapter \"{}\"", name);
  if (is_merged() && gone->active) raise(ErrorKind::config, "remove_adapter: \"{}\" is merged into the weight", name);
  remove_child(*gone);
  std::erase_if(adapters_, [gone](const auto& adapter) { return &**adapter == gone; });
}

void Linear::merge_adapters() {
  if (is_merged() || adapters_.empty()) return;
  const NoGrad no_grad;
  const Tensor original = weight.detach().clone();
  Tensor merged = original;
  // Each adapter sees the original weight, as in forward().
  for (const auto& adapter : adapters_)
    if ((*adapter)->active) merged = merged + ((*adapter)->merged(original) - original);
  weight.copy_(merged);
  original_ = original;
}

void Linear::unmerge_adapters() {
  if (!is_merged()) return;
  const NoGrad no_grad;
  weight.copy_(original_);
  original_ = Tensor();
}

std::string Linear::settings() const {
  return fmt::format("{} -> {}{}", weight.size(1), weight.size(0), bias.defined() ? "" : ", no bias");
}

}  // namespace tape::nn
