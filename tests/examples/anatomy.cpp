// The attention layers of examples/3_layers/anatomy/, compared with PyTorch and with each other.

#include <cmath>

#include <fmt/format.h>

#include "examples/3_layers/anatomy/packed.h"
#include "examples/3_layers/anatomy/separate_heads.h"
#include "examples/3_layers/anatomy/shared_projection.h"
#include "tests/nn/torch_case.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

constexpr int64_t kWidth = 8, kHeads = 2;

Scores masking_variant(const std::string& way, int64_t queries, int64_t keys) {
  if (way == "filled") return filled(future(queries, keys), -INFINITY);
  if (way == "large") return filled(future(queries, keys), -1e20);
  if (way == "added") return added(causal_bias(queries, keys));
  return scaled;
}

/// Compares every case that make_anatomy.py wrote for a layer.
template <class Call>
void expect_all_cases_like_torch(const std::string& name, nn::Module& layer, const Call& call) {
  for (const std::string form : {"square", "cross"}) {
    for (const std::string way : {"nothing", "filled", "large", "added"}) {
      expect_agrees_with_torch(
          TorchCase("anatomy", fmt::format("{} {} {}", name, form, way)),
          [&](const Named& in) {
            const AttentionResult result = call(in.at("q"), in.at("k"), in.at("v"), way);
            return Named{{"y", result.output}, {"weights", result.weights}};
          },
          &layer);
    }
  }
}

template <class L>
void expect_layer_as_torch(const std::string& name) {
  L layer(kWidth, kHeads);
  expect_all_cases_like_torch(name, layer,
                              [&](const Tensor& q, const Tensor& k, const Tensor& v, const std::string& way) {
                                layer.scores = masking_variant(way, q.size(1), k.size(1));
                                return layer.forward(q, k, v);
                              });
}

TEST(Anatomy, SeparateHeadsAgreeWithTorch) { expect_layer_as_torch<SeparateHeads>("separate"); }

TEST(Anatomy, SharedProjectionAgreesWithTorch) { expect_layer_as_torch<SharedProjection>("shared"); }

TEST(Anatomy, PackedAgreesWithTorch) {
  nn::MultiHeadAttention layer(kWidth, kHeads);
  expect_all_cases_like_torch("packed", layer,
                              [&](const Tensor& q, const Tensor& k, const Tensor& v, const std::string& way) {
                                const int64_t queries = q.size(1), keys = k.size(1);
                                Mask mask;
                                if (way == "filled") mask = Mask::keep(logical_not(future(queries, keys)));
                                if (way == "large")
                                  mask = Mask::additive((future(queries, keys).to(f64) * -1e20).to(q.dtype()));
                                if (way == "added") mask = Mask::additive(causal_bias(queries, keys).to(q.dtype()));
                                return layer.with_weights(q, k, v, mask);
                              });
}

TEST(Anatomy, PackedHeadsEqualSeparateHeads) {
  manual_seed(3);
  SeparateHeads separate(kWidth, kHeads);
  nn::MultiHeadAttention packed(kWidth, kHeads);
  const Tensor q = randn({2, 3, kWidth}), k = randn({2, 5, kWidth});
  EXPECT_FALSE(tensors_near(packed(q, k, k), separate.forward(q, k, k).output, 1e-3));
  pack(separate, packed);
  const AttentionResult one = packed.with_weights(q, k, k), other = separate.forward(q, k, k);
  EXPECT_TRUE(tensors_near(one.output, other.output, 1e-5));
  EXPECT_TRUE(tensors_near(one.weights, other.weights, 1e-6));
}

/// The ways to mask differ for a query whose keys are all masked.
TEST(Anatomy, FullyMaskedQueryGetsZeroOrEqualWeights) {
  const Tensor products = tensor({{1, 2, 3, 4}}), all = ones({1, 4}, boolean);
  EXPECT_TRUE(tensors_equal(softmax(filled(all, -INFINITY)(products, 0.5), -1), zeros({1, 4})));
  EXPECT_TRUE(tensors_equal(softmax(filled(all, -1e20)(products, 0.5), -1), full({1, 4}, 0.25)));
  EXPECT_TRUE(tensors_equal(softmax(added(full({1, 4}, -INFINITY))(products, 0.5), -1), zeros({1, 4})));
}

}  // namespace
}  // namespace tape
