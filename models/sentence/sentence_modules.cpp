#include "models/sentence/sentence_modules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/loss/embedding_loss.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "base/check.h"

namespace tape::models {
namespace {

/// Which positions are pooled, [B][T].
std::vector<std::vector<bool>> shown_positions(const Tensor& hidden, const Mask& mask) {
  const int64_t batch = hidden.size(0), length = hidden.size(1);
  std::vector<std::vector<bool>> shown(static_cast<size_t>(batch),
                                       std::vector<bool>(static_cast<size_t>(length), true));
  if (!mask.keep_mask().defined()) return shown;
  const Shape& kept = mask.keep_mask().shape();
  if (kept.rank() != 4 || kept[1] != 1 || kept[2] != 1 || kept[3] != length || (kept[0] != batch && kept[0] != 1))
    raise(ErrorKind::shape, "sentence_pool: mask {} must be [{}, 1, 1, {}] for hidden {}", to_string(kept), batch,
          length, to_string(hidden.shape()));
  const std::vector<double> values = cast(mask.keep_mask(), f64).to_vector<double>();
  for (size_t row = 0; row < shown.size(); ++row)
    for (size_t t = 0; t < shown[row].size(); ++t)
      shown[row][t] = values[(kept[0] == 1 ? 0 : row * shown[row].size()) + t] != 0;
  return shown;
}

/// Weights of the positions of one row; `first` is the first position that its mask keeps, including the prompt.
std::vector<double> weights_of(SentencePooling mode, const std::vector<bool>& shown, size_t first) {
  using enum SentencePooling;
  std::vector<double> weights(shown.size(), 0);
  const auto begin = std::ranges::find(shown, true);
  if (begin == shown.end()) {
    if (mode == cls && !weights.empty()) weights.front() = 1;
    return weights;
  }
  const auto place = static_cast<size_t>(begin - shown.begin());
  const auto last =
      shown.size() - 1 - static_cast<size_t>(std::ranges::find(shown.rbegin(), shown.rend(), true) - shown.rbegin());
  double sum = 0;
  for (size_t t = 0; t < shown.size(); ++t) {
    if (mode == cls || mode == lasttoken)
      weights[t] = t == (mode == cls ? place : last) ? 1 : 0;
    else if (shown[t])
      weights[t] = mode == weightedmean ? static_cast<double>(t - first + 1) : 1;
    sum += weights[t];
  }
  for (double& weight : weights) weight /= mode == mean_sqrt_len_tokens ? std::sqrt(sum) : sum;
  return weights;
}

/// -inf at hidden positions, [B, T, 1].
Tensor hidden_scores(const std::vector<std::vector<bool>>& shown, int64_t length, const TensorOptions& options) {
  std::vector<double> values;
  for (const auto& row : shown)
    for (const bool seen : row) values.push_back(seen ? 0 : -INFINITY);
  return from_vector(values, {std::ssize(shown), length, 1}, options);
}

}  // namespace

std::string_view to_string(SentencePooling mode) {
  static constexpr std::array<std::string_view, 6> names{"cls",          "max",      "mean", "mean_sqrt_len_tokens",
                                                         "weightedmean", "lasttoken"};
  return names.at(static_cast<size_t>(mode));
}

std::span<const SentencePooling> sentence_poolings() {
  using enum SentencePooling;
  static constexpr std::array all{cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken};
  return all;
}

Tensor sentence_pool(const Tensor& hidden, const Mask& mask, std::span<const SentencePooling> modes, int64_t skipped) {
  if (hidden.rank() != 3)
    raise(ErrorKind::shape, "sentence_pool: hidden must be [B, T, C], got {}", to_string(hidden.shape()));
  if (modes.empty()) raise(ErrorKind::config, "sentence_pool: needs at least one mode");
  const int64_t batch = hidden.size(0), length = hidden.size(1);
  std::vector<std::vector<bool>> shown = shown_positions(hidden, mask);
  std::vector<size_t> firsts;
  for (std::vector<bool>& row : shown) {
    const auto begin = std::ranges::find(row, true);
    firsts.push_back(begin == row.end() ? 0 : static_cast<size_t>(begin - row.begin()));
    const size_t end = std::min(row.size(), firsts.back() + static_cast<size_t>(std::max<int64_t>(skipped, 0)));
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(firsts.back()), row.begin() + static_cast<std::ptrdiff_t>(end),
              false);
  }
  Tensors vectors;
  for (const SentencePooling mode : modes) {
    if (mode == SentencePooling::max) {
      vectors.push_back(max(hidden + hidden_scores(shown, length, hidden.options()), {1}));
      continue;
    }
    std::vector<double> weights;
    for (size_t row = 0; row < shown.size(); ++row) {
      const std::vector<double> own = weights_of(mode, shown[row], firsts[row]);
      weights.insert(weights.end(), own.begin(), own.end());
    }
    const Tensor share = from_vector(weights, {batch, 1, length}, hidden.options());
    vectors.push_back(squeeze(matmul(share, hidden), {1}));
  }
  return vectors.size() == 1 ? vectors.front() : cat(vectors, -1);
}

SentenceModule::SentenceModule(const SentenceModuleOptions& o) : options_(o) {
  if (o.kind == SentenceModuleKind::dense || o.kind == SentenceModuleKind::layer_norm)
    check_at_least_one("SentenceModule", {{"in", o.in}, {"out", o.out}});
  if (o.kind == SentenceModuleKind::dense) {
    linear = std::make_unique<nn::Child<nn::Linear>>(this, "linear", o.in, o.out, nn::LinearOptions{.bias = o.bias});
    if (o.residual && o.in != o.out)
      residual =
          std::make_unique<nn::Child<nn::Linear>>(this, "residual", o.in, o.out, nn::LinearOptions{.bias = false});
  }
  if (o.kind == SentenceModuleKind::layer_norm) norm = std::make_unique<nn::Child<nn::LayerNorm>>(this, "norm", o.in);
  if (o.kind == SentenceModuleKind::dropout)
    dropout = std::make_unique<nn::Child<nn::Dropout>>(this, "dropout", o.rate);
}

Tensor SentenceModule::forward(const Tensor& x) {
  if (norm) return (*norm)(x);
  if (dropout) return (*dropout)(x);
  if (!linear) return normalize(x, -1);
  Tensor y = (*linear)(x);
  if (options_.activation) y = nn::Activation(*options_.activation).forward(y);
  if (!options_.residual) return y;
  return y + (residual ? (*residual)(x) : x);
}

std::string SentenceModule::settings() const {
  switch (options_.kind) {
    case SentenceModuleKind::dense:
      return fmt::format("dense {} -> {}{}{}", options_.in, options_.out,
                         options_.activation ? fmt::format(", {}", nn::to_string(*options_.activation)) : "",
                         options_.residual ? ", residual" : "");
    case SentenceModuleKind::layer_norm:
      return fmt::format("layer norm {}", options_.in);
    case SentenceModuleKind::dropout:
      return fmt::format("dropout {}", options_.rate);
    case SentenceModuleKind::normalize:
      break;
  }
  return "normalize";
}

}  // namespace tape::models
