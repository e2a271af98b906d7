#include "nn/module/per_sample.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/transforms/checkpoint.h"
#include "nn/convolution.h"
#include "nn/embedding/embedding.h"
#include "nn/linear.h"
#include "nn/norm/layer_norm.h"
#include "nn/norm/rms_norm.h"
#include "nn/position/positional_encoding.h"
#include "nn/transformer/encoder.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

using testing::HasSubstr;
using Losses = std::function<Tensor(const Tensors&)>;

/// Reference: one backward per sample.
std::vector<NamedTensor> one_by_one(Module& module, const Losses& losses, const Tensors& batch) {
  std::vector<NamedTensor> result;
  Tensors wanted;
  for (const NamedTensor& parameter : module.named_parameters()) {
    wanted.push_back(parameter.tensor);
    result.push_back({parameter.name, {}});
  }
  std::vector<Tensors> parts(wanted.size());
  for (int64_t b = 0; b < batch[0].size(0); ++b) {
    Tensors one;
    for (const Tensor& x : batch) one.push_back(slice(x, 0, {.start = b, .end = b + 1}));
    const Tensors gradients = grad({sum(losses(one))}, wanted, {.allow_unused = true});
    for (size_t i = 0; i < wanted.size(); ++i)
      parts[i].push_back(gradients[i].defined() ? gradients[i] : zeros_like(wanted[i].detach()));
  }
  for (size_t i = 0; i < wanted.size(); ++i) result[i].tensor = stack(parts[i], 0);
  return result;
}

void expect_equals_single_backwards(Module& module, const Losses& losses, const Tensors& batch) {
  const std::vector<NamedTensor> all = per_sample_gradients(module, losses, batch);
  const std::vector<NamedTensor> one = one_by_one(module, losses, batch);
  ASSERT_EQ(all.size(), one.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].name, one[i].name);
    EXPECT_TRUE(tensors_near(all[i].tensor, one[i].tensor, 1e-11)) << all[i].name;
  }
  for (const NamedTensor& parameter : module.named_parameters()) EXPECT_FALSE(parameter.tensor.grad().defined());
}

/// Reduces the module's output to one number per sample.
Tensor loss_of(const Tensor& y) { return sum(sin(reshape(y, {y.size(0), -1})), 1); }

/// A model with token and position tables, an encoder layer, an RMS norm and tied weights.
struct Model : Module {
  explicit Model(int64_t width = 8) : tokens(this, "tokens", 11, width), encoder(this, "encoder", options(width)) {
    to(f64);
  }
  static TransformerLayerOptions options(int64_t width) {
    return {.d_model = width, .heads = 2, .d_ff = 12, .dropout = 0};
  }
  Tensor forward(const Tensor& ids) {
    Tensor h = tokens(ids) + positions(ids.size(1));
    h = norm(encoder(h));
    return linear(h, tokens->weight);  // tied to the table
  }
  Tensor positions(int64_t length) { return table(arange(length)); }

  Child<Embedding> tokens;
  Child<Embedding> table{this, "table", 6, 8};
  Child<EncoderLayer> encoder;
  Child<RMSNorm> norm{this, "norm", 8};
};

TEST(PerSampleGradients, EqualThoseOfOneBackwardPerSample) {
  manual_seed(3);
  Model model;
  const Tensor ids = tensor({{1, 4, 1, 0}, {7, 2, 10, 4}, {3, 3, 3, 3}}, i64);
  const Losses losses = [&](const Tensors& batch) { return loss_of(model.forward(batch[0])); };
  expect_equals_single_backwards(model, losses, {ids});
  const Composed composed;
  expect_equals_single_backwards(model, losses, {ids});
}

TEST(PerSampleGradients, SupportFlattenedRowsAndSamplesOnALaterAxis) {
  manual_seed(4);
  Linear layer(3, 2);
  layer.to(f64);
  const Tensor x = sample_normal({4, 5, 3});
  expect_equals_single_backwards(layer,
                                 [&](const Tensors& batch) {
                                   const Tensor rows = layer(reshape(batch[0], {-1, 3}));  // [B * 5, 2]
                                   return loss_of(reshape(rows, {batch[0].size(0), 5, 2}));
                                 },
                                 {x});
  expect_equals_single_backwards(
      layer, [&](const Tensors& batch) { return loss_of(transpose(layer(transpose(batch[0], 0, 1)), 0, 1)); }, {x});
  expect_equals_single_backwards(layer, [&](const Tensors& batch) { return loss_of(layer(batch[0])); },
                                 {slice(x, 0, {.end = 1})});
}

/// A model with grouped and ungrouped convolutions and a group norm.
struct Convolutional : Module {
  Convolutional() { to(f64); }
  Tensor forward(const Tensor& x) {
    const Tensor h = group_norm(first(x), 2, weight, bias);
    return sum(second(h), -1);
  }
  Child<Conv2d> first{
      this, "first", 4, 6, SpatialSizes{3, 2}, ConvLayerOptions{.stride = {2, 1}, .padding = 1, .groups = 2}};
  Child<Conv2d> second{this, "second", 6, 2, 3, ConvLayerOptions{.padding = PadTo::same, .dilation = 2}};
  Parameter weight{this, "weight", sample_normal({6}, 5)}, bias{this, "bias", sample_normal({6}, 6)};
};

TEST(PerSampleGradients, SupportConvolutions) {
  manual_seed(7);
  Convolutional module;
  expect_equals_single_backwards(module, [&](const Tensors& batch) { return loss_of(module.forward(batch[0])); },
                                 {sample_normal({3, 4, 6, 5})});
  // Two batch rows per sample, and sequences.
  Conv1d layer(2, 3, 2, {.stride = 2});
  layer.to(f64);
  expect_equals_single_backwards(
      layer,
      [&](const Tensors& batch) {
        return loss_of(reshape(layer(reshape(batch[0], {-1, 2, 7})), {batch[0].size(0), -1}));
      },
      {sample_normal({3, 2, 2, 7})});
}

/// A parameter that meets the samples in an operation without a per-sample rule.
struct Unknown : Module {
  Unknown() { to(f64); }
  Tensor forward(const Tensor& x) {
    return custom(
        "rank_one", {x, weight}, [](const Tensors& in) { return matmul(in[0], unsqueeze(in[1], 1)); },
        [](const BackwardContext& c) -> Tensors {
          const Tensor dy = c.grad(), w = c.saved(1);
          return {matmul(dy, unsqueeze(w, 0)), reshape(matmul(transpose(c.saved(0)), dy), {w.numel()})};
        });
  }
  Parameter weight{this, "weight", sample_normal({3}, 5)};
};

TEST(PerSampleGradients, RunAnOperationWithoutARuleSampleBySample) {
  Unknown module;
  expect_equals_single_backwards(module, [&](const Tensors& batch) { return loss_of(module.forward(batch[0])); },
                                 {sample_normal({4, 3})});
}

TEST(PerSampleGradients, OmitFrozenParametersAndThePaddingRow) {
  manual_seed(5);
  Embedding table(5, 3, {.padding_index = 0});
  table.to(f64);
  const Tensor ids = tensor({{0, 4, 4}, {1, 0, 0}}, i64);
  const Losses losses = [&](const Tensors& batch) { return loss_of(table(batch[0])); };
  expect_equals_single_backwards(table, losses, {ids});
  table.freeze();
  EXPECT_TRUE(per_sample_gradients(
                  table,
                  [&](const Tensors& batch) { return losses(batch) + zeros({batch[0].size(0)}, f64).requires_grad_(); },
                  {ids})
                  .empty());
}

struct Projection : Module {
  explicit Projection(const Shape& shape) : weight(this, "weight", sample_normal(shape)) {}
  Parameter weight;
};

TEST(PerSampleGradients, AreRightForMatricesWhoseGradientHasTheShapeOfTheOutput) {
  Projection whole({4, 4}), stacked({2, 4, 3});
  const Tensor x = sample_normal({4, 2, 4}, 2);
  expect_equals_single_backwards(whole,
                                 [&](const Tensors& in) {
                                   return loss_of(einsum("btc,cd->btd", {in[0], whole.weight}));
                                 },
                                 {x});
  expect_equals_single_backwards(whole,
                                 [&](const Tensors& in) {
                                   return loss_of(einsum("btc,cd->btd", {in[0], whole.weight}));
                                 },
                                 {sample_normal({2, 2, 4}, 3)});
  expect_equals_single_backwards(
      stacked,
      [&](const Tensors& in) {
        return loss_of(permute(matmul(permute(in[0], {1, 0, 2}), stacked.weight), {1, 0, 2}));
      },
      {x});
  Projection table({4, 3});
  expect_equals_single_backwards(table,
                                 [&](const Tensors& in) { return loss_of(index_select(table.weight, 0, in[0])); },
                                 {tensor({3, 1, 1, 0}, i64)});
}

TEST(PerSampleGradients, RefuseSamplesThatInfluenceEachOther) {
  manual_seed(6);
  Linear layer(3, 2);
  layer.to(f64);
  const Tensor x = sample_normal({4, 3});
  const auto gradients = [&](const Losses& losses) { return per_sample_gradients(layer, losses, {x}); };
  try {
    gradients([&](const Tensors& batch) {
      const Tensor y = layer(batch[0]);
      return loss_of(y - mean(y, 0, Dims::keep));
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::graph);
    EXPECT_THAT(error.what(), HasSubstr("per_sample_gradients: the gradient of weight of the last sample is off by "));
    EXPECT_THAT(error.what(), HasSubstr("samples influence each other, or their rows are not consecutive"));
  }
  EXPECT_TAPE_ERROR(gradients([&](const Tensors& batch) { return sum(layer(batch[0])); }), ErrorKind::shape,
                    "per_sample_gradients: the losses are [], they must be [4], one per sample");
  EXPECT_TAPE_ERROR(
      gradients([&](const Tensors& batch) {
        const Tensor y = layer(batch[0]);
        return sum(matmul(y, y, {.transpose_b = true}), 1);
      }),
      ErrorKind::graph,
      "per_sample_gradients: 'matmul' returns [1, 1] for one sample and [4, 4] for 4: there is no single sample "
      "axis");
  EXPECT_TAPE_ERROR(
      per_sample_gradients(layer, [&](const Tensors& batch) { return loss_of(layer(batch[0])); }, {x, ones({3})}),
      ErrorKind::shape, "per_sample_gradients: tensor 1 of the batch is [3], but earlier ones have 4 samples");
  EXPECT_TAPE_ERROR(per_sample_gradients(layer, [&](const Tensors&) { return loss_of(layer(x)); }, {}),
                    ErrorKind::shape, "per_sample_gradients: the batch has no samples");
}

}  // namespace
}  // namespace tape::nn
