// Mixed precision on the emulated device: kernels that read and write bf16, beside the CPU, which computes in f32 and
// rounds.
#include <functional>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/attention/rotary.h"
#include "autograd/ops/elementwise/activation.h"
#include "autograd/ops/elementwise/activation_dtype.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/linear_cross_entropy.h"
#include "autograd/ops/norm/norm.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/observer.h"
#include "autograd/transforms/per_sample.h"
#include "models/decoders/gpt.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adam.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Counts the recorded casts to f32 of results in bf16 and back.
class CountCasts : public Observer {
 public:
  int64_t count = 0;

 private:
  void on_node(Node& node, TensorList) override { count += std::string_view(node.name()) == "cast"; }
  bool needs_each_gradient() override { return false; }
};

using Function = std::function<Tensor(const Tensors&)>;

struct Outcome {
  Tensors values;  // the result and the gradients of the inputs, on the CPU in f32
  int64_t casts = 0;
};

/// y = f(inputs) and the gradients of sum(y dy), with autocast, on a device.
Outcome outcome_of(const Function& f, const Tensors& given, Device device) {
  const AutocastScope autocast;
  manual_seed(3);
  Tensors inputs;
  for (const Tensor& input : given) {
    inputs.push_back(input.detach().clone().to(device));
    if (is_floating(input.dtype())) inputs.back().requires_grad_();
  }
  Outcome outcome;
  const CountCasts casts;
  const Tensor y = f(inputs);
  outcome.casts = casts.count;
  Generator stream(7);
  y.backward({.gradient = cast(randn(y.shape(), {f32, cpu}, stream).to(device), y.dtype())});
  outcome.values.push_back(cast(y.detach().to(cpu), f32));
  for (const Tensor& input : inputs)
    if (input.requires_grad()) {
      EXPECT_EQ(input.grad().dtype(), input.dtype());
      outcome.values.push_back(cast(input.grad().to(cpu), f32));
    }
  return outcome;
}

/// Both round results to 8 bits, from operands of which the GPU rounds some more: `roundings` of 2^-8 of the largest
/// value.
void expect_values_of_the_cpu(const char* name, const Function& f, const Tensors& inputs, double roundings = 1) {
  SCOPED_TRACE(name);
  const Outcome here = outcome_of(f, inputs, cpu), there = outcome_of(f, inputs, cuda);
  EXPECT_EQ(there.casts, 0) << "recorded casts";
  ASSERT_EQ(here.values.size(), there.values.size());
  for (size_t i = 0; i < here.values.size(); ++i) {
    const double largest = max(abs(here.values[i])).item();
    EXPECT_TRUE(allclose(there.values[i], here.values[i],
                         {.rtol = 0, .atol = cuda_device::test_tolerance(roundings * 0x1p-8 * largest)}))
        << "value " << i;
  }
}

Tensor bf16_values(const Shape& shape) { return cast(randn(shape), bf16); }

class CudaAutocast : public testing::TestWithParam<int> {
 protected:
  CudaAutocast() {
    device.set_schedule(GetParam());
    manual_seed(1);
  }
  cuda_device::TestDevice device;
};
INSTANTIATE_TEST_SUITE_P(Schedules, CudaAutocast, testing::Values(0, 1, 2));

TEST_P(CudaAutocast, ComputesElementwiseFunctions) {
  const Tensor x = bf16_values({3, 41}), y = bf16_values({3, 41});
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, std::function<Tensor(const Tensor&)>>>{
           {"gelu", gelu},
           {"gelu_tanh", gelu_tanh},
           {"relu", relu},
           {"silu", silu},
           {"tanh", tanh},
           {"sigmoid", sigmoid},
           {"exp", exp},
           {"square", square},
           {"affine", [](const Tensor& t) { return t * 3 + 0.5; }},
           {"dropout", [](const Tensor& t) { return dropout(t, 0.4); }}})
    expect_values_of_the_cpu(
        name, [f = f](const Tensors& in) { return f(in[0]); }, {x}, 2);
  expect_values_of_the_cpu("add", [](const Tensors& in) { return in[0] + in[1]; }, {x, y});
  expect_values_of_the_cpu("sub", [](const Tensors& in) { return in[0] - in[1]; }, {x, bf16_values({41})});
  expect_values_of_the_cpu(
      "mul", [](const Tensors& in) { return in[0] * in[1]; }, {x, y}, 2);
  expect_values_of_the_cpu(
      "sum of uses", [](const Tensors& in) { return in[0] + in[0] * in[0]; }, {x}, 3);
}

TEST_P(CudaAutocast, ComputesNorms) {
  for (const int64_t width : {8, 100, 104, 1100, 1104}) {
    const Tensors inputs{bf16_values({70, width}), randn({width}), randn({width})};
    expect_values_of_the_cpu(
        "layer_norm", [](const Tensors& in) { return layer_norm(in[0], in[1], in[2], 1e-5); }, inputs);
    expect_values_of_the_cpu("rms_norm", [](const Tensors& in) { return rms_norm(in[0], in[1], 1e-5); },
                             {inputs[0], inputs[1]});
    expect_values_of_the_cpu("no parameters", [](const Tensors& in) { return layer_norm(in[0], {}, {}, 1e-5); },
                             {inputs[0]});
  }
}

TEST_P(CudaAutocast, ComputesRotaryEmbeddings) {
  const Tensor angles = randn({5, 4});
  expect_values_of_the_cpu(
      "rotary",
      [&](const Tensors& in) {
        return rotary_embedding(in[0], cos(angles).to(in[0].device()), sin(angles).to(in[0].device()),
                                {.num_heads = 2});
      },
      {bf16_values({2, 5, 20})}, 2);
}

TEST_P(CudaAutocast, ComputesLinearLayersAndEmbeddings) {
  const auto linear_of = [](const Tensors& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); };
  for (const auto& [rows, in, out] : {std::array<int64_t, 3>{5, 7, 9}, {70, 66, 130}}) {
    const Tensors inputs{bf16_values({2, rows, in}), randn({out, in}), randn({out})};
    expect_values_of_the_cpu("linear", linear_of, inputs, 3);
    expect_values_of_the_cpu("linear without bias", linear_of, {inputs[0], inputs[1]}, 3);
  }
  const Tensor ids = tensor({{4, 0, 4}, {1, 2, 4}}, i64);
  expect_values_of_the_cpu("embedding", [&](const Tensors& in) { return embedding(in[0], ids.to(in[0].device())); },
                           {randn({5, 12})});
}

TEST_P(CudaAutocast, ComputesCrossEntropies) {
  const Tensor target = tensor({3, -100, 0, 6, 2}, i64), weight = rand({7}) + 0.5;
  for (const double smoothing : {0.0, 0.1}) {
    const auto options = [&](Device at, bool weighted) {
      return CrossEntropyOptions{.label_smoothing = smoothing, .weight = weighted ? weight.to(at) : Tensor()};
    };
    for (const bool weighted : {false, true}) {
      expect_values_of_the_cpu("cross_entropy",
                               [&](const Tensors& in) {
                                 return cross_entropy(in[0], target.to(in[0].device()),
                                                      options(in[0].device(), weighted));
                               },
                               {bf16_values({5, 7})});
      // Logits that begin elsewhere within a pack than their gradients.
      expect_values_of_the_cpu("cross_entropy of a slice",
                               [&](const Tensors& in) {
                                 const Tensor logits = slice(in[0], 0, {.start = 1});
                                 return cross_entropy(logits, target.to(in[0].device()),
                                                      options(in[0].device(), weighted));
                               },
                               {bf16_values({6, 7})});
      expect_values_of_the_cpu(
          "linear_cross_entropy",
          [&](const Tensors& in) {
            return linear_cross_entropy(in[0], in[1], in[2], target.to(in[0].device()),
                                        options(in[0].device(), weighted), 2);
          },
          {bf16_values({5, 12}), randn({7, 12}), randn({7})}, 4);
    }
  }
  expect_values_of_the_cpu(
      "linear_cross_entropy of a bias alone",
      [&](const Tensors& in) {
        const Tensor x = cast(ones({5, 2}, in[0].device()), bf16);
        return linear_cross_entropy(x, ones({7, 2}, in[0].device()), in[0], target.to(in[0].device()), {}, 2);
      },
      {randn({7})}, 4);
}

TEST_P(CudaAutocast, DifferentiatesTwice) {
  const auto second = [](Device at) {
    const AutocastScope autocast;
    manual_seed(2);
    const Tensor x = cast(randn({4, 6}), bf16).to(at).requires_grad_();
    const Tensor weight = randn({5, 6}).to(at).requires_grad_(), bias = randn({5}).to(at).requires_grad_();
    const Tensor y = gelu(linear(x, weight, bias));
    const Tensors first = grad({sum(square(cast(y, f32)))}, {x, weight, bias}, {.create_graph = true});
    sum(square(cast(first[0], f32))).backward();
    EXPECT_EQ(weight.grad().dtype(), f32);
    return weight.grad().to(cpu);
  };
  const Tensor here = second(cpu), there = second(cuda);
  EXPECT_TRUE(allclose(there, here, {.rtol = 0, .atol = 0.05 * max(abs(here)).item()}));
}

TEST_P(CudaAutocast, GivesPerSampleGradientsInF32) {
  const auto of_samples = [](Device at) {
    const AutocastScope autocast;
    manual_seed(2);
    const Tensor weight = randn({5, 4}).to(at).requires_grad_(), scale = randn({5}).to(at).requires_grad_();
    const Tensor x = randn({3, 4}).to(at);
    const auto losses = [&](const Tensors& batch) {
      return sum(square(cast(layer_norm(linear(batch[0], weight, {}), scale, {}, 1e-5), f32)), -1);
    };
    return per_sample_gradients(losses, {{"weight", weight}, {"scale", scale}}, {x}, {.verify = false});
  };
  const std::vector<NamedTensor> here = of_samples(cpu), there = of_samples(cuda);
  for (size_t i = 0; i < here.size(); ++i) {
    const Tensor found = there[i].tensor.to(cpu);
    ASSERT_EQ(found.dtype(), f32);
    EXPECT_TRUE(allclose(found, here[i].tensor, {.rtol = 0, .atol = 0.05 * max(abs(here[i].tensor)).item()}));
  }
}

TEST_P(CudaAutocast, RoundsAWeightAgainWhenItChanged) {
  const AutocastScope autocast;
  const NoGrad no_grad;
  const Tensor x = cast(ones({2, 4}), bf16).to(cuda);
  Tensor weight = ones({3, 4}).to(cuda);
  EXPECT_EQ(sum(cast(linear(x, weight, {}), f32)).item(), 24);
  weight.mul_(2);
  EXPECT_EQ(sum(cast(linear(x, weight, {}), f32)).item(), 48);
  EXPECT_EQ(sum(cast(linear(x, slice(weight, 0, {.start = 1}), {}), f32)).item(), 32);
  weight.copy_(zeros({3, 4}).to(cuda));
  EXPECT_EQ(sum(cast(linear(x, weight, {}), f32)).item(), 0);
}

/// The bf16 copy is written with the parameter by Adam, so that products read the same values as from a new copy.
TEST_P(CudaAutocast, ReadsTheWeightsThatAdamWrote) {
  const AutocastScope autocast;
  for (const optim::MomentDtype moments : {optim::MomentDtype::parameter_dtype, optim::MomentDtype::bf16}) {
    const Tensor x = cast(randn({6, 4}), bf16).to(cuda);
    Tensor weight = randn({3, 4}).to(cuda).requires_grad_(), bias = randn({3}).to(cuda).requires_grad_();
    optim::Adam adam({weight, bias}, {.lr = 0.1, .moments = moments});
    for (int step = 0; step < 3; ++step) {
      adam.zero_grad();
      sum(square(cast(linear(x, weight, bias), f32))).backward();
      adam.step();
      EXPECT_TRUE(current_rounded_weight(weight).defined());
      EXPECT_TRUE(tensors_equal(current_rounded_weight(weight).to(cpu), cast(weight.detach().to(cpu), bf16)));
      EXPECT_TRUE(tensors_equal(current_rounded_weight(bias).to(cpu), cast(bias.detach().to(cpu), bf16)));
    }
    {
      const NoGrad no_grad;
      weight.fill_(1);
    }
    EXPECT_FALSE(current_rounded_weight(weight).defined());
    adam.step();  // does not write a copy of other values
    EXPECT_FALSE(current_rounded_weight(weight).defined());
    const Tensor fresh = weight.detach().clone();
    EXPECT_TRUE(tensors_equal(linear(x, weight, bias).detach().to(cpu), linear(x, fresh, bias).detach().to(cpu)));
  }
}

/// Losses of 30 steps, for which `loss` returns that of a batch [4, 17], and the casts recorded in a step.
struct Training {
  std::vector<double> losses;
  int64_t casts = 0;
};
template <class Model, class Loss>
Training training_of(Model& model, Device device, const Loss& loss) {
  model.to(device);
  optim::AdamW optimizer(model.parameters(), {.lr = 3e-3});
  Generator data(5);
  const Tensor rows = randint(1, 11, {8, 17}, data).to(device);
  Training training;
  for (int step = 0; step < 30; ++step) {
    const CountCasts casts;
    const Tensor value = loss(slice(rows, 0, {.start = 4 * (step % 2), .end = 4 * (step % 2) + 4}));
    training.casts = casts.count;
    optimizer.zero_grad();
    value.backward();
    optim::clip_grad_norm(model.parameters(), 1.0);
    optimizer.step();
    training.losses.push_back(value.item());
  }
  return training;
}

Training gpt_training(Device device) {
  manual_seed(1);
  models::Gpt model({.vocab = 11, .d_model = 32, .layers = 2, .heads = 4, .max_length = 16});
  return training_of(model, device, [&](const Tensor& ids) {
    return model.loss(slice(ids, 1, {.end = 16}), slice(ids, 1, {.start = 1}));
  });
}

Training transformer_training(Device device) {
  manual_seed(1);
  models::Transformer model({.src_vocab = 11, .tgt_vocab = 11, .d_model = 32, .layers = 2, .heads = 4, .d_ff = 64});
  return training_of(model, device, [&](const Tensor& ids) {
    return model.loss(slice(ids, 1, {.start = 1}), slice(ids, 1, {.end = 16}), slice(ids, 1, {.start = 1}),
                      {.label_smoothing = 0.1});
  });
}

/// With precision `medium`, a GPU trains with bf16 activations, near the losses of f32.
void expect_losses_near_those_of_f32(Training (*train)(Device)) {
  const Training exact = train(cpu);
  const cuda_device::TestDevice device;
  const MatmulPrecisionScope precision(MatmulPrecision::medium);
  const Training rounded = train(cuda);
  for (size_t step = 0; step < exact.losses.size(); ++step)
    EXPECT_NEAR(rounded.losses[step] / exact.losses[step], 1, 0.02) << "step " << step;
  EXPECT_NE(rounded.losses, exact.losses);
  EXPECT_EQ(rounded.casts, 0) << "recorded casts in a forward pass";
}

TEST(CudaAutocastTraining, GivesAGptLossesNearThoseOfF32) { expect_losses_near_those_of_f32(gpt_training); }
TEST(CudaAutocastTraining, GivesAnEncoderDecoderLossesNearThoseOfF32) {
  expect_losses_near_those_of_f32(transformer_training);
}

}  // namespace
}  // namespace tape
