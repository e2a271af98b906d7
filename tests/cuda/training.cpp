// Training of small Transformers on the emulated device as on the CPU, with dropout and clipping.
#include <cstdlib>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/graph.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/decoders/gpt.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "tests/cuda/test_device.h"

namespace tape {
namespace {

constexpr int64_t kVocabulary = 11, kBatch = 4, kLength = 16;
constexpr int kSteps = 16, kStepsAsGraphs = 12;

/// Losses of the steps; `loss` returns that of a batch [kBatch, kLength + 1]. On a GPU, a step waits for the norm of
/// the gradient and for the loss, and for nothing else.
template <class Model, class Loss>
std::vector<double> losses_of(Model& model, DType dtype, Device device, int steps, const Loss& loss) {
  model.to(dtype);
  model.to(device);
  optim::AdamW optimizer(model.parameters(), {.lr = 3e-3});
  Generator data(5);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    const Tensor ids = randint(1, kVocabulary, {kBatch, kLength + 1}, data).to(device);
    const int64_t before = cuda_device::waits();
    const Tensor value = loss(ids);
    optimizer.zero_grad();
    value.backward();
    optim::clip_grad_norm(model.parameters(), 1.0);
    optimizer.step();
    losses.push_back(value.item());
    EXPECT_EQ(cuda_device::waits() - before, device.is_cpu() ? 0 : 2) << "step " << step;
  }
  return losses;
}

std::vector<double> gpt_losses(DType dtype, Device device, int steps) {
  manual_seed(1);
  models::Gpt model({.vocab = kVocabulary, .d_model = 32, .layers = 2, .heads = 4, .max_length = kLength});
  return losses_of(model, dtype, device, steps, [&](const Tensor& ids) {
    return model.loss(slice(ids, 1, {.end = kLength}), slice(ids, 1, {.start = 1}));
  });
}

std::vector<double> transformer_losses(DType dtype, Device device, int steps) {
  manual_seed(1);
  models::Transformer model(
      {.src_vocab = kVocabulary, .tgt_vocab = kVocabulary, .d_model = 32, .layers = 2, .heads = 4, .d_ff = 64});
  return losses_of(model, dtype, device, steps, [&](const Tensor& ids) {
    return model.loss(slice(ids, 1, {.start = 1}), slice(ids, 1, {.end = kLength}), slice(ids, 1, {.start = 1}),
                      {.label_smoothing = 0.1});
  });
}

void expect_near(const std::vector<double>& here, const std::vector<double>& there, double tolerance) {
  for (size_t step = 0; step < here.size(); ++step)
    EXPECT_NEAR(there[step], here[step], cuda_device::test_tolerance(tolerance)) << "step " << step;
}

using Losses = std::vector<double> (*)(DType, Device, int steps);

std::vector<double> device_losses(Losses losses, DType dtype) {
  const cuda_device::TestDevice device;
  return losses(dtype, cuda, kSteps);
}

/// Losses with steps as graphs. After four steps they contain all that values on the host do not part into pieces.
std::vector<double> graph_losses(Losses losses, DType dtype) {
  setenv("TAPE_CUDA_GRAPHS", "1", 1);
  const cuda_device::TestDevice device;
  std::vector<double> all = losses(dtype, cuda, kStepsAsGraphs);
  unsetenv("TAPE_CUDA_GRAPHS");
  const cuda_device::GraphStatistics launches = cuda_device::graph_statistics();
  const int64_t in_long_lists = launches.by_graph + launches.plainly - launches.in_short_lists;
  EXPECT_GE(launches.by_graph, (kStepsAsGraphs - 4) * in_long_lists / kStepsAsGraphs);
  return all;
}

void expect_losses_of_the_cpu(Losses losses) {
  for (const DType dtype : {f64, f32}) {
    std::vector<double> plain = device_losses(losses, dtype);
    expect_near(losses(dtype, cpu, kSteps), plain, dtype == f64 ? 1e-10 : 1e-4);
    plain.resize(kStepsAsGraphs);
    EXPECT_EQ(graph_losses(losses, dtype), plain);
  }
}

TEST(CudaTraining, GivesAGptTheLossesOfTheCpu) { expect_losses_of_the_cpu(gpt_losses); }
TEST(CudaTraining, GivesAnEncoderDecoderTheLossesOfTheCpu) { expect_losses_of_the_cpu(transformer_losses); }

}  // namespace
}  // namespace tape
