#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "nn/attention/attention.h"
#include "nn/attention/attention_weights.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

// Attention with newer options than those of the 2017 paper, as in Qwen and Mistral.

namespace tape::nn {
namespace {

using Options = MultiHeadAttentionOptions;

void expect_causal_as_torch(const std::string& name, const Options& options) {
  MultiHeadAttention layer(8, 4, options);
  expect_agrees_with_torch(
      TorchCase("decoder_layers", name),
      [&](const Named& in) {
        const Tensor& x = in.at("x");
        const AttentionResult result = layer.with_weights(x, x, x, Mask::causal());
        EXPECT_TRUE(tensors_near(layer(x, Mask::causal()), result.output, 1e-5));
        return Named{{"y", result.output}, {"weights", result.weights}};
      },
      &layer);
}

TEST(MultiHeadAttention, HasBiasesLikeQwen2) {
  expect_causal_as_torch("qwen2", {.kv_heads = 2, .rotary = RotaryOptions{}, .output_bias = false});
}

TEST(MultiHeadAttention, NormalizesHeadsOfAGivenWidthLikeQwen3) {
  expect_causal_as_torch("qwen3", {.bias = false,
                                   .kv_heads = 2,
                                   .rotary = RotaryOptions{},
                                   .head_width = 6,
                                   .query_key_norm = RMSNormOptions{.eps = 1e-6}});
}

TEST(MultiHeadAttention, UsesASlidingWindowLikeMistral) {
  for (const int64_t size : {1, 3})
    expect_causal_as_torch(
        fmt::format("mistral window {}", size),
        {.bias = false, .kv_heads = 2, .rotary = RotaryOptions{}, .window = AttentionWindow::sliding(size)});
}

TEST(MultiHeadAttention, AcceptsPositionsOfLeftPaddedTexts) {
  MultiHeadAttention layer(8, 4, {.bias = false, .kv_heads = 2, .rotary = RotaryOptions{.theta = 100}});
  const Tensor ids = tensor({{0, 0, 0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}}, i64);
  const TorchCase c("decoder_layers", "padding in front");
  layer.to(f64);
  layer.load_state_dict(c.parameter);
  // Outputs at padding are meaningless: padding attends to nothing there, and to padding here.
  const Mask seen = Mask::padding(tensor({{0, 0, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}}, i64), 0);
  const Tensor x = c.in.at("x"), y = layer(x, Mask::causal() & seen, ids), expected = c.out.at("y");
  EXPECT_TRUE(tensors_near(slice(y, 1, {.start = 2}), slice(expected, 1, {.start = 2}), 1e-12));
  KeyValueCache cache;
  const auto part = [&](const Tensor& whole, int64_t begin, int64_t end) {
    return slice(whole, 1, {.start = begin, .end = end});
  };
  const Mask seen_first = Mask::padding(tensor({{0, 0, 1, 1}, {1, 1, 1, 1}}, i64), 0);
  const Tensor first = layer.forward_cached(part(x, 0, 4), cache, seen_first, part(ids, 0, 4));
  const Tensor rest = layer.forward_cached(part(x, 4, 6), cache, seen, part(ids, 4, 6));
  EXPECT_TRUE(tensors_near(slice(cat({first, rest}, 1), 1, {.start = 2}), slice(expected, 1, {.start = 2}), 1e-12));
}

/// All combinations of options: grouped heads, windows, rotation, norms.
std::vector<std::pair<std::string, Options>> all_options() {
  std::vector<std::pair<std::string, Options>> all;
  for (const int64_t kv_heads : {1, 2, 4})
    for (const bool rotary : {false, true})
      for (const bool norm : {false, true})
        for (const auto& window : {std::optional<AttentionWindow>(), std::optional(AttentionWindow::sliding(3)),
                                   std::optional(AttentionWindow::around(4))}) {
          Options o{.kv_heads = kv_heads, .output_bias = false, .head_width = 6, .window = window};
          if (rotary) o.rotary = RotaryOptions{.fraction = 2.0 / 3};
          if (norm) o.query_key_norm = RMSNormOptions{};
          all.emplace_back(fmt::format("kv_heads {}, rotary {}, norm {}, window {}", kv_heads, rotary, norm,
                                       window ? window->left : -1),
                           o);
        }
  return all;
}

TEST(AttentionOfAllOptions, IsEqualFusedComposedCachedAndWithWeights) {
  for (const auto& [name, options] : all_options()) {
    manual_seed(1);
    MultiHeadAttention layer(8, 4, options);
    layer.to(f64);
    const Tensor x = randn({2, 9, 8}, f64);
    const Tensor ids = tensor({{0, 0, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, i64);
    const Mask padding = Mask::padding(ids, 0);
    const Tensor whole = layer(x, Mask::causal() & padding);
    EXPECT_TRUE(tensors_near(layer.with_weights(x, x, x, Mask::causal() & padding).output, whole, 1e-13)) << name;
    KeyValueCache cache;
    Tensors parts;
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 4}, {4, 5}, {5, 9}}) {
      const Mask seen = Mask::padding(slice(ids, 1, {.end = end}), 0);
      parts.push_back(layer.forward_cached(slice(x, 1, {.start = begin, .end = end}), cache, seen));
    }
    EXPECT_TRUE(tensors_near(cat(parts, 1), whole, 1e-13)) << name;
    const Composed composed;
    EXPECT_TRUE(tensors_near(layer(x, Mask::causal() & padding), whole, 1e-13)) << name;
  }
}

TEST(AttentionOfAllOptions, HasTheGradientsOfTheComposedVersion) {
  for (const auto& [name, options] : all_options()) {
    manual_seed(1);
    MultiHeadAttention layer(8, 4, options);
    layer.to(f64);
    const Tensor x = randn({2, 7, 8}, f64).requires_grad_();
    const auto gradients = [&] {
      Tensors leaves = layer.parameters();
      leaves.push_back(x);
      return grad({sum(layer(x, Mask::causal()) * sample_normal({2, 7, 8}))}, leaves);
    };
    const Tensors fused = gradients();
    const Composed composed;
    const Tensors unfused = gradients();
    for (size_t i = 0; i < fused.size(); ++i)
      EXPECT_TRUE(tensors_near(fused[i], unfused[i], 1e-12)) << name << " " << i;
  }
}

TEST(MultiHeadAttention, EvictsCachedKeysOutsideItsWindow) {
  manual_seed(6);
  MultiHeadAttention layer(4, 2, {.rotary = RotaryOptions{}, .window = AttentionWindow::sliding(20)});
  layer.to(f64);
  layer.eval();
  const int64_t length = 100;
  const Tensor x = randn({1, length, 4}, f64), whole = layer(x, Mask::causal());
  for (const bool recorded : {false, true}) {
    std::optional<NoGrad> unrecorded;
    if (!recorded) unrecorded.emplace();
    KeyValueCache cache;
    Tensors parts;
    for (int64_t t = 0; t < length; ++t) {
      parts.push_back(layer.forward_cached(slice(x, 1, {.start = t, .end = t + 1}), cache));
      ASSERT_EQ(cache.length(), t + 1);
      ASSERT_LE(cache.size(), 39);
      ASSERT_LE(cache.key.size(1), t < 40 ? 64 : 40);
    }
    EXPECT_TRUE(tensors_near(cat(parts, 1), whole, 1e-13)) << recorded;
    // Masks cover all positions, including evicted ones.
    const Tensor next = randn({1, 1, 4}, f64), keep = gt(arange(length + 1), 90.0);
    KeyValueCache copy = cache;
    const Tensor found = layer.forward_cached(next, copy, Mask::keep(keep));
    EXPECT_TRUE(
        tensors_near(found[0][0], layer(cat({x, next}, 1), Mask::causal() & Mask::keep(keep))[0][length], 1e-13));
  }
}

TEST(AttentionWeights, AreZeroOutsideTheWindow) {
  MultiHeadAttention layer(4, 2, {.window = AttentionWindow::around(2)});
  const AttentionWeights seen(layer);
  layer(randn({1, 4, 4}));
  const Tensor weights = seen.of(layer);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(weights[0][1][i][j].item() > 0, std::abs(i - j) <= 1) << i << " " << j;
}

TEST(MultiHeadAttention, PrintsItsOptions) {
  const Options options{.kv_heads = 1, .head_width = 6, .window = AttentionWindow::sliding(3)};
  EXPECT_EQ(MultiHeadAttention(4, 2, options).settings(),
            "4, 2 heads of width 6, 1 kv heads, window from 2 before to 0 after");
  MultiHeadAttention normed(4, 2, {.output_bias = false, .query_key_norm = RMSNormOptions{.eps = 1e-5}});
  std::string names;
  for (const NamedTensor& parameter : normed.named_parameters()) names += parameter.name + " ";
  EXPECT_EQ(names,
            "query.weight query.bias key.weight key.bias value.weight value.bias output.weight query_norm.weight "
            "key_norm.weight ");
  EXPECT_EQ((*normed.query_norm)->settings(), "2, eps 1e-05");
}

TEST(MultiHeadAttention, RefusesInvalidOptions) {
  EXPECT_TAPE_ERROR(MultiHeadAttention(4, 2, {.head_width = -1}), ErrorKind::config,
                    "MultiHeadAttention: 2 heads of width -1");
  EXPECT_TAPE_ERROR(MultiHeadAttention(4, 0, {.head_width = 2}), ErrorKind::config,
                    "MultiHeadAttention: 0 heads of width 2");
  EXPECT_TAPE_ERROR(MultiHeadAttention(4, 2, {.window = AttentionWindow::sliding(0)}), ErrorKind::config,
                    "MultiHeadAttention: a window from -1 keys before to 0 after is empty");
  MultiHeadAttention layer(4, 2, {.window = AttentionWindow::sliding(2)});
  EXPECT_TAPE_ERROR(layer.forward_projected(zeros({1, 2, 4}), layer.project(zeros({1, 3, 4}))), ErrorKind::config,
                    "MultiHeadAttention: a window cannot be used with a projected memory");
  MultiHeadAttention rotary(4, 2, {.rotary = RotaryOptions{}});
  EXPECT_TAPE_ERROR(rotary(zeros({2, 3, 4}), Mask(), tensor({{0, 1}, {0, 1}}, i64)), ErrorKind::shape,
                    "rotary: Positions: ids [2, 2] do not fit 2 texts of length 3");
}

}  // namespace
}  // namespace tape::nn
