// Every registered module on the emulated device: the same values and gradients as on the CPU.
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/random.h"
#include "models/encoders/roberta.h"
#include "models/heads/question_answerer.h"
#include "models/sentence/sentence_modules.h"
#include "nn/gradcheck/check.h"
#include "tests/cuda/test_device.h"

namespace tape {
namespace {

/// The output of each module that a check builds on the device, and the gradients of its inputs and parameters.
Tensors values_of(const nn::ModuleCheck& check, Device device) {
  const DeviceScope on_device(device);
  manual_seed(11);
  Tensors values;
  check.run(nn::Checker([&](nn::Module& module, const auto& forward, const Tensors& given, const GradcheckOptions&) {
    module.to(f64);
    Tensors inputs;
    for (const Tensor& input : given) {
      inputs.push_back(input.detach().to(device));
      if (is_floating(input.dtype())) inputs.back().requires_grad_();
    }
    const Tensor output = forward(inputs);
    EXPECT_EQ(output.device(), device);
    Generator stream(7);
    output.backward({.gradient = randn(output.shape(), {f64, cpu}, stream).to(output.options())});
    values.push_back(output.detach().to(cpu));
    for (const NamedTensor& parameter : module.named_parameters()) inputs.push_back(parameter.tensor);
    for (const Tensor& leaf : inputs) values.push_back(leaf.grad().defined() ? leaf.grad().to(cpu) : Tensor());
    return GradcheckReport();
  }));
  return values;
}

TEST(CudaModules, GiveTheValuesAndGradientsOfTheCpu) {
  const cuda_device::TestDevice device;
  for (const nn::ModuleCheck* check : nn::registered_module_checks()) {
    SCOPED_TRACE(std::string(check->type()) + ": " + check->label());
    try {
      const Tensors here = values_of(*check, cpu), there = values_of(*check, cuda);
      ASSERT_EQ(here.size(), there.size());
      for (size_t i = 0; i < here.size(); ++i) {
        ASSERT_EQ(here[i].defined(), there[i].defined()) << "value " << i;
        if (!here[i].defined()) continue;
        EXPECT_TRUE(allclose(here[i], there[i], {.rtol = 1e-10, .atol = 1e-11})) << "value " << i;
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(CudaModules, PoolAndAnswerWithTheCpuAsDefault) {
  const cuda_device::TestDevice device;
  const Tensor hidden = randn({2, 3, 4}, f64), ids = tensor({{1, 2, 0}, {1, 0, 0}}, i64);
  const std::vector modes{models::SentencePooling::mean, models::SentencePooling::max};
  const Tensor there = models::sentence_pool(hidden.to(cuda), Mask::padding(ids.to(cuda), 0), modes, 0);
  EXPECT_TRUE(allclose(there.to(cpu), models::sentence_pool(hidden, Mask::padding(ids, 0), modes, 0)));
  const models::RobertaConfig encoder{
      .vocab = 11, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 6, .init_std = 0.3};
  const models::QuestionAnswerer model({.encoder = encoder});
  const Tensor logits = randn({2, 3, 2}), starts = tensor({0, 1}, i64), ends = tensor({2, 2}, i64);
  EXPECT_TRUE(
      allclose(model.loss(logits.to(cuda), starts.to(cuda), ends.to(cuda)).to(cpu), model.loss(logits, starts, ends)));
}

}  // namespace
}  // namespace tape
