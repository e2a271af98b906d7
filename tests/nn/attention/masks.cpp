// Masks do not leak: values at hidden positions do not change a bit of the outputs at visible ones.

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/transformer/decoder.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

/// How attention is computed: with the fused kernel, with composed operations, or fused while returning weights.
enum class GemmBackend { fused, composed, weights };

struct Way {
  DType dtype;
  GemmBackend backend;
};

using Place = std::pair<int64_t, int64_t>;  // row of the batch, position

/// Requests the weights of every attention module.
class WeightsOfAll : public Observer {
  bool wants_attention_weights() override { return true; }
};

class Masks : public testing::TestWithParam<Way> {
 protected:
  Masks() {
    manual_seed(11);
    if (GetParam().backend == GemmBackend::composed) composed_.emplace();
    if (GetParam().backend == GemmBackend::weights) weights_.emplace();
  }

  DType dtype() const { return GetParam().dtype; }
  /// Converts a module to the test's dtype.
  template <class M>
  M& ready(M& module) const {
    module.to(dtype());
    return module;
  }
  Tensor input(int64_t length, int64_t width = 8) const { return randn({2, length, width}, dtype()); }

 private:
  std::optional<Composed> composed_;
  std::optional<WeightsOfAll> weights_;
};

Tensor with_values(const Tensor& x, const std::vector<Place>& places, double value) {
  Tensor changed = x.detach().clone();
  for (const auto& [row, position] : places) changed[row][position].fill_(value);
  return changed;
}

bool same_bits(const Tensor& a, const Tensor& b, const std::vector<Place>& places) {
  for (const auto& [row, position] : places) {
    const Tensor one = a[row][position], other = b[row][position];
    if (std::memcmp(one.raw(), other.raw(), static_cast<size_t>(one.numel() * size_of(one.dtype()))) != 0) return false;
  }
  return true;
}

// Finite even in the score of a hidden query with itself (1e30), because a weight of 0 times NaN is NaN, as in PyTorch.
const double kPoison[] = {0.25, -1e15};

/// Checks that outputs at `visible` do not depend on x at `hidden`, and that their sum has no gradient there.
void expect_hidden(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const std::vector<Place>& hidden,
                   const std::vector<Place>& visible) {
  const Tensor before = f(x);
  for (const double poison : kPoison)
    EXPECT_TRUE(same_bits(f(with_values(x, hidden, poison)), before, visible)) << "with " << poison;
  for (const auto& [row, position] : visible)  // sanity check: visible positions do change the output
    EXPECT_FALSE(same_bits(f(with_values(x, {{row, position}}, 0.25)), before, {{row, position}}));
  const Tensor leaf = x.detach().clone().requires_grad_();
  Tensor seed = with_values(zeros_like(before), visible, 1);
  f(leaf).backward({.gradient = seed});
  for (const auto& [row, position] : hidden)
    EXPECT_TRUE(tensors_equal(leaf.grad()[row][position], zeros_like(leaf.grad()[row][position])));
}

const std::vector<Place> kLater = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, kEarlier = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
/// Ids of two rows; the second ends with padding.
Tensor padded_ids() { return tensor({{3, 4, 5, 6}, {3, 4, 0, 0}}, i64); }
const std::vector<Place> kPadding = {{1, 2}, {1, 3}}, kWords = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}};

TEST_P(Masks, HidePositionsInAttention) {
  MultiHeadAttention layer(8, 2);
  ready(layer);
  const auto with = [&](const Mask& mask) { return [&layer, mask](const Tensor& x) { return layer(x, mask); }; };
  expect_hidden(with(Mask::causal()), input(4), kLater, kEarlier);
  expect_hidden(with(Mask::padding(padded_ids(), 0)), input(4), kPadding, kWords);
  expect_hidden(with(Mask::causal() & Mask::padding(padded_ids(), 0)), input(4), kPadding, kWords);
}

TEST_P(Masks, HidePositionsInEncoderLayers) {
  for (const NormPlace norm : {NormPlace::post, NormPlace::pre}) {
    EncoderLayer layer({.d_model = 8, .heads = 2, .d_ff = 12, .dropout = 0, .norm = norm});
    ready(layer);
    expect_hidden([&](const Tensor& x) { return layer(x, Mask::padding(padded_ids(), 0)); }, input(4), kPadding,
                  kWords);
    expect_hidden([&](const Tensor& x) { return layer(x, Mask::causal()); }, input(4), kLater, kEarlier);
  }
}

TEST_P(Masks, HidePositionsInDecoderLayers) {
  for (const NormPlace norm : {NormPlace::post, NormPlace::pre}) {
    DecoderLayer layer({.d_model = 8, .heads = 2, .d_ff = 12, .dropout = 0, .norm = norm});
    ready(layer);
    const Tensor x = input(4), memory = input(4);
    const Mask padding = Mask::padding(padded_ids(), 0);
    expect_hidden([&](const Tensor& x2) { return layer(x2, memory, Mask(), padding); }, x, kLater, kEarlier);
    expect_hidden([&](const Tensor& x2) { return layer(x2, memory, padding, padding); }, x, kPadding, kWords);
    const Tensor before = layer(x, memory, Mask(), padding);
    for (const double poison : kPoison)
      EXPECT_TRUE(same_bits(layer(x, with_values(memory, kPadding, poison), Mask(), padding), before, kWords))
          << "with " << poison << " in the memory";
  }
}

/// A hidden key may have any value, because its score is replaced, not added to.
TEST_P(Masks, HideKeysWithNaN) {
  const Tensor query = input(4), key = input(4), value = input(4);
  const auto attend = [&](const Tensor& keys, const Mask& mask) {
    return GetParam().backend == GemmBackend::weights
               ? multi_head_attention_with_weights(query, keys, value, 2, {.mask = mask}).output
               : multi_head_attention(query, keys, value, 2, {.mask = mask});
  };
  const Mask padding = Mask::padding(padded_ids(), 0);
  for (const double poison : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(same_bits(attend(with_values(key, kPadding, poison), padding), attend(key, padding), kWords));
    EXPECT_TRUE(
        same_bits(attend(with_values(key, kLater, poison), Mask::causal()), attend(key, Mask::causal()), kEarlier));
  }
}

/// Overwrites table rows that only hidden positions use.
void poison_row(Tensor table, int64_t row, double value) {
  const NoGrad no_grad;
  table[row].fill_(value);
}

TEST_P(Masks, HidePositionsInTheTransformer) {
  for (const NormPlace norm : {NormPlace::post, NormPlace::pre}) {
    models::Transformer model({.src_vocab = 9,
                               .tgt_vocab = 9,
                               .d_model = 8,
                               .layers = 2,
                               .heads = 2,
                               .d_ff = 12,
                               .dropout = 0,
                               .norm = norm,
                               .max_length = 5});
    ready(model);
    const Tensor src = padded_ids(), tgt = tensor({{1, 2, 3, 4}, {1, 2, 0, 0}}, i64);
    const Tensor before = model(src, tgt);
    for (const double poison : kPoison) {
      poison_row(model.src_embedding->weight, 0, poison);  // the source's padding
      EXPECT_TRUE(same_bits(model(src, tgt), before, kWords)) << "source with " << poison;
      poison_row(model.src_embedding->weight, 0, 0);
      poison_row(model.tgt_embedding->weight, 8, poison);  // a token at later positions
      const Tensor later = tensor({{1, 2, 8, 8}, {1, 2, 8, 8}}, i64);
      EXPECT_TRUE(same_bits(model(src, later), before, kEarlier)) << "later words with " << poison;
      EXPECT_FALSE(same_bits(model(src, later), before, {{0, 2}}));
    }
  }
}

/// Row (0, 1) has no visible keys: its output is zero, and it contributes to no gradient.
TEST_P(Masks, GiveZerosForFullyHiddenRows) {
  Tensor keep = full({2, 1, 3, 4}, 1, boolean);
  keep[0][0][1].fill_(0);
  Tensor added = zeros({2, 1, 3, 4}, dtype());
  added[0][0][1].fill_(-std::numeric_limits<double>::infinity());
  for (const Mask& mask : {Mask::keep(keep), Mask::additive(added)}) {
    Tensor query = input(3).requires_grad_(), key = input(4).requires_grad_(), value = input(4).requires_grad_();
    AttentionResult result;
    if (GetParam().backend == GemmBackend::weights)
      result = multi_head_attention_with_weights(query, key, value, 2, {.mask = mask});
    else
      result.output = multi_head_attention(query, key, value, 2, {.mask = mask});
    EXPECT_TRUE(tensors_equal(result.output[0][1], zeros({8}, dtype())));
    EXPECT_FALSE(tensors_equal(result.output[0][0], zeros({8}, dtype())));
    Tensors roots{result.output}, seeds{ones_like(result.output)};
    if (result.weights.defined()) {
      for (int64_t head = 0; head < 2; ++head)
        EXPECT_TRUE(tensors_equal(result.weights[0][head][1], zeros({4}, dtype())));
      roots.push_back(result.weights);
      seeds.push_back(randn(result.weights.shape(), dtype()));
    }
    const Tensors all = grad(roots, {query, key, value}, {.gradients = seeds, .retain_graph = true});
    EXPECT_TRUE(tensors_equal(all[0][0][1], zeros({8}, dtype())));
    // A seed at that row only produces zero gradients everywhere.
    const Tensor only = with_values(zeros_like(result.output), {{0, 1}}, 1);
    for (const Tensor& gradient : grad({result.output}, {query, key, value}, {.gradients = {only}}))
      EXPECT_TRUE(tensors_equal(gradient, zeros_like(gradient)));
  }
}

TEST_P(Masks, GiveZeroSecondDerivativesForFullyHiddenRows) {
  Tensor keep = full({2, 1, 3, 4}, 1, boolean);
  keep[0][0][1].fill_(0);
  Tensor query = input(3).requires_grad_();
  const Tensor key = input(4).requires_grad_(), value = input(4).requires_grad_();
  Tensor y;
  if (GetParam().backend == GemmBackend::weights)
    y = multi_head_attention_with_weights(query, key, value, 2, {.mask = Mask::keep(keep)}).output;
  else
    y = multi_head_attention(query, key, value, 2, {.mask = Mask::keep(keep)});
  const Tensors first = grad({y}, {query, key, value}, {.gradients = {ones_like(y)}, .create_graph = true});
  const Tensors seeds{randn(first[0].shape(), dtype()), randn(first[1].shape(), dtype()),
                      randn(first[2].shape(), dtype())};
  const Tensors second = grad(first, {query, key, value}, {.gradients = seeds});
  EXPECT_TRUE(tensors_equal(second[0][0][1], zeros({8}, dtype())));
  for (const Tensor& gradient : second)
    for (const double number : gradient.to(f64).to_vector<double>()) EXPECT_TRUE(std::isfinite(number));
}

TEST_P(Masks, KeepLayersFiniteWhenEverythingIsHidden) {
  EncoderLayer layer({.d_model = 8, .heads = 2, .d_ff = 12, .dropout = 0});
  ready(layer);
  const Tensor x = input(4).requires_grad_();
  const Tensor y = layer(x, Mask::padding(zeros({2, 4}, i64), 0));
  y.backward({.gradient = ones_like(y)});
  for (const Tensor& tensor : {y, x.grad(), Tensor(layer.self_attention->query->weight).grad()})
    for (const double number : tensor.detach().to(f64).to_vector<double>()) EXPECT_TRUE(std::isfinite(number));
}

std::string way_name(const testing::TestParamInfo<Way>& info) {
  static const char* const paths[] = {"fused", "composed", "weights"};
  return std::string(to_string(info.param.dtype)) + "_" + paths[static_cast<int>(info.param.backend)];
}

INSTANTIATE_TEST_SUITE_P(Backends, Masks,
                         testing::Values(Way{f32, GemmBackend::fused}, Way{f64, GemmBackend::fused},
                                         Way{f32, GemmBackend::composed}, Way{f64, GemmBackend::composed},
                                         Way{f32, GemmBackend::weights}, Way{f64, GemmBackend::weights}),
                         way_name);

}  // namespace
}  // namespace tape::nn
