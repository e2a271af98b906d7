// Losses of f16 and bf16 values against those of the same values in f32.

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Inputs in f64, all with gradients, and a loss that computes in the dtype of its inputs.
struct LossOfHalves {
  Tensors inputs;
  std::function<Tensor(const Tensors&)> call;
};

Tensor like(const Tensor& x, const Tensor& constant) { return constant.to(x.dtype()); }

std::map<std::string, LossOfHalves> pairs() {
  const Tensor x = sample_normal({6, 5}, 1), t = sample_normal({6, 5}, 2), p = sample_uniform({6, 5}, 0.1, 0.9, 3),
               q = sample_uniform({6, 5}, 0.1, 0.9, 4), classes = sample_uniform({5}, 0.5, 2, 5);
  return {{"mse_loss", {{x, t}, [](auto& in) { return mse_loss(in[0], in[1]); }}},
          {"l1_loss", {{x, t}, [](auto& in) { return l1_loss(in[0], in[1]); }}},
          {"smooth_l1_loss", {{x, t}, [](auto& in) { return smooth_l1_loss(in[0], in[1], {.beta = 0.7}); }}},
          {"huber_loss", {{x, t}, [](auto& in) { return huber_loss(in[0], in[1], {.delta = 0.7}); }}},
          {"gaussian_nll_loss", {{x, t, p}, [](auto& in) { return gaussian_nll_loss(in[0], in[1], in[2]); }}},
          {"bce_loss", {{p, q}, [](auto& in) { return bce_loss(in[0], in[1]); }}},
          {"bce_with_logits_loss", {{x, p}, [](auto& in) { return bce_with_logits_loss(in[0], in[1]); }}},
          {"bce_with_logits_loss, weighted",
           {{x, p},
            [=](auto& in) {
              const Tensor w = like(in[0], classes);
              return bce_with_logits_loss(in[0], in[1], {.weight = w, .pos_weight = w});
            }}},
          {"kl_div", {{x, p}, [](auto& in) { return kl_div(in[0], in[1]); }}},
          {"kl_div of logarithms", {{x, t}, [](auto& in) { return kl_div(in[0], in[1], {.log_target = true}); }}}};
}

std::map<std::string, LossOfHalves> of_classes() {
  const Tensor x = sample_normal({6, 5}, 1), classes = sample_uniform({5}, 0.5, 2, 5), w = sample_normal({5, 3}, 6),
               h = sample_normal({6, 3}, 7), b = sample_normal({5}, 8), target = tensor({0, 4, 2, 1, 1, 3}, i64);
  const auto options = [=](const Tensor& in) {
    return CrossEntropyOptions{.ignore_index = 2, .label_smoothing = 0.1, .weight = like(in, classes)};
  };
  const Tensor labels = tensor({{1, 2, 1}, {2, 2, 0}}, i64), frames = tensor({5, 4}, i64),
               lengths = tensor({3, 2}, i64);
  return {
      {"cross_entropy", {{x}, [=](auto& in) { return cross_entropy(in[0], target); }}},
      {"cross_entropy, all options", {{x}, [=](auto& in) { return cross_entropy(in[0], target, options(in[0])); }}},
      {"nll_loss",
       {{x}, [=](auto& in) { return nll_loss(in[0], target, {.ignore_index = 2, .weight = like(in[0], classes)}); }}},
      {"linear_cross_entropy",
       {{h, w, b}, [=](auto& in) { return linear_cross_entropy(in[0], in[1], in[2], target, options(in[0])); }}},
      {"linear_cross_entropy in blocks",
       {{h, w, b}, [=](auto& in) { return linear_cross_entropy(in[0], in[1], in[2], target, options(in[0]), 2); }}},
      {"ctc_loss",
       {{sample_normal({5, 2, 3}, 9)}, [=](auto& in) { return ctc_loss(in[0], labels, frames, lengths); }}}};
}

std::map<std::string, LossOfHalves> of_vectors() {
  const Tensor a = sample_normal({4, 6}, 1), b = sample_normal({4, 6}, 2), c = sample_normal({4, 6}, 3),
               alike = tensor({1, -1, 1, -1}, i64);
  return {{"normalize", {{a}, [](auto& in) { return normalize(in[0]); }}},
          {"cosine_similarity", {{a, b}, [](auto& in) { return cosine_similarity(in[0], in[1]); }}},
          {"cosine_embedding_loss",
           {{a, b}, [=](auto& in) { return cosine_embedding_loss(in[0], in[1], alike, {.margin = -0.9}); }}},
          {"triplet_margin_loss",
           {{a, b, c}, [](auto& in) { return triplet_margin_loss(in[0], in[1], in[2], {.margin = 4, .swap = true}); }}},
          {"info_nce", {{a, b}, [](auto& in) { return info_nce(in[0], in[1], {.symmetric = true}); }}}};
}

/// The loss and its gradients for one seed, in f64.
Tensors result_and_gradients(const LossOfHalves& loss, const Tensors& values, DType dtype) {
  Tensors inputs;
  for (const Tensor& value : values) inputs.push_back(value.to(dtype).requires_grad_());
  const Tensor y = loss.call(inputs);
  EXPECT_EQ(y.dtype(), dtype);
  Tensors all = grad({y}, inputs, {.gradients = {sample_uniform(y.shape(), 0.5, 1.5, 11).to(bf16).to(dtype)}});
  for (const Tensor& gradient : all) EXPECT_EQ(gradient.dtype(), dtype);
  all.insert(all.begin(), y.detach());
  for (Tensor& tensor : all) tensor = tensor.to(f64);
  return all;
}

TEST(LossesOfHalves, AgreeWithF32LossesOfTheSameValues) {
  for (const auto& losses : {pairs(), of_classes(), of_vectors()})
    for (const auto& [name, loss] : losses)
      for (const DType dtype : {bf16, f16}) {
        Tensors values;
        for (const Tensor& input : loss.inputs) values.push_back(input.to(dtype).to(f32));
        const Tensors wanted = result_and_gradients(loss, values, f32),
                      found = result_and_gradients(loss, values, dtype);
        for (size_t i = 0; i < wanted.size(); ++i)
          EXPECT_TRUE(tensors_near(found[i], wanted[i], dtype == bf16 ? 2e-2 : 2e-3))
              << name << " of " << to_string(dtype) << (i ? ", gradient " : ", result ") << i;
      }
}

/// The sum of the losses exceeds the range of f16, and their count exceeds what bf16 can count to.
TEST(LossesOfHalves, AverageInF32) {
  const Tensor target = zeros({40'001}, i64);
  for (const DType dtype : {bf16, f16})
    EXPECT_NEAR(cross_entropy(zeros({40'001, 8}, dtype), target, {.ignore_index = -1}).item(), std::log(8), 1e-2);
}

/// f16 must not clamp the logarithms and derivatives of a probability of 0 with bounds outside its range.
TEST(LossesOfHalves, AreFiniteForProbabilitiesOfZeroAndOne) {
  for (const DType dtype : {bf16, f16}) {
    const Tensor p = tensor({0, 1, 0, 1}, dtype).requires_grad_(), t = tensor({0, 1, 1, 0}, dtype);
    const Tensor each = bce_loss(p, t, Reduction::none);
    EXPECT_TRUE(tensors_equal(each.to(f32), tensor({0, 0, 100, 100})));
    EXPECT_TRUE(tensors_equal(slice(grad({sum(each)}, {p})[0], 0, {.end = 2}).to(f32), tensor({0, 0})));
  }
}

}  // namespace
}  // namespace tape
