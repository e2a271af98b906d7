#include "nn/norm/batch_norm.h"

#include <cmath>

#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/transforms/checkpoint.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

/// Runs some batches in training, comparing outputs and buffers, then evaluates.
template <class M>
void expect_batches_as_torch(const std::string& name, M& layer) {
  const Named file = with_prefix(fixture_tensors("convolution_layers"), name + "/");
  for (const DType dtype : {f64, f32}) {
    const double tolerance = dtype == f64 ? 1e-12 : 1e-5;
    layer.to(dtype);
    layer.load_state_dict(with_prefix(file, "parameter."));
    layer.train();
    for (int i = 0; file.contains("in." + std::to_string(i)); ++i) {
      const std::string number = std::to_string(i);
      const Tensor y = layer(file.at("in." + number).to(dtype));
      EXPECT_TRUE(tensors_near(y.detach(), file.at("out." + number).to(dtype), tolerance)) << name << ", batch " << i;
      const Named wanted = with_prefix(file, "state." + number + ".");
      const StateDict state = layer.state_dict();
      EXPECT_EQ(state.size(), wanted.size());
      for (const auto& [key, value] : wanted) {
        ASSERT_TRUE(state.contains(key)) << key;
        EXPECT_TRUE(tensors_near(state.at(key).detach().to(f64), value.to(f64), tolerance)) << name << ", " << key;
      }
    }
    layer.eval();
    EXPECT_TRUE(tensors_near(layer(file.at("in.0").to(dtype)).detach(), file.at("out.evaluation").to(dtype), tolerance))
        << name;
  }
}

TEST(BatchNorm, AgreesWithTorch) {
  BatchNorm1d rows(4), cumulative(3, {.momentum = std::nullopt}),
      not_tracked(3, {.affine = false, .track_running_stats = false});
  BatchNorm2d planes(2, {.eps = 1e-3, .momentum = 0.3});
  expect_batches_as_torch("batch norm1d", rows);
  expect_batches_as_torch("batch norm1d cumulative", cumulative);
  expect_batches_as_torch("batch norm1d not tracked", not_tracked);
  expect_batches_as_torch("batch norm2d", planes);
}

TEST(BatchNorm, UpdatesItsStatisticsOnceInsideACheckpoint) {
  for (const std::optional<double> momentum : {std::optional(0.3), std::optional<double>()}) {
    const Tensor x = sample_normal({4, 3, 2}), input = x.clone().requires_grad_();
    BatchNorm1d plain(3, {.momentum = momentum}), kept(3, {.momentum = momentum});
    plain.to(f64);
    kept.to(f64);
    for (int step = 0; step < 2; ++step) {
      const Tensor y = plain(x * (step + 1)) * x;
      sum(square(y)).backward();
      const Tensor again = checkpoint([&](const Tensors& in) { return kept(in[0] * (step + 1)) * x; }, {input});
      sum(square(again)).backward({.retain_graph = true});
      sum(square(again)).backward();
      EXPECT_TRUE(tensors_equal(again.detach(), y.detach()));
    }
    for (const auto& [name, value] : plain.state_dict())
      EXPECT_TRUE(tensors_equal(kept.state_dict().at(name).detach(), value.detach())) << name;
    EXPECT_EQ(kept.num_batches_tracked.item<int64_t>(), 2);
  }
}

TEST(BatchNorm, SavesItsBuffersButDoesNotTrainThem) {
  BatchNorm1d layer(2), other(2);
  layer(tensor({{1, 2}, {3, 8}}));
  EXPECT_EQ(layer.parameters().size(), 2u);
  EXPECT_EQ(layer.named_buffers().size(), 3u);
  const TemporaryFolder folder;
  const std::string path = folder / "norm.safetensors";
  layer.save(path);
  other.load(path);
  EXPECT_TRUE(tensors_near(other.running_mean, tensor({0.2, 0.5}), 1e-6));
  EXPECT_TRUE(tensors_near(other.running_var, tensor({1.1, 2.7}), 1e-6));
  EXPECT_TRUE(tensors_equal(other.num_batches_tracked, tensor({1}, i64)[0]));
}

/// Evaluation does not write to the buffers.
TEST(BatchNorm, DoesNotUpdateItsBuffersInEvaluation) {
  BatchNorm2d layer(1);
  layer.eval();
  layer(full({1, 1, 1, 1}, 5));
  EXPECT_EQ(layer.running_mean.item(), 0);
  EXPECT_EQ(layer.num_batches_tracked.item(), 0);
}

TEST(BatchNorm, PrintsItsSettings) {
  EXPECT_EQ(BatchNorm1d(4).settings(), "4, eps 1e-05, momentum 0.1");
  EXPECT_EQ(
      BatchNorm2d(4, {.eps = 0.1, .momentum = std::nullopt, .affine = false, .track_running_stats = false}).settings(),
      "4, eps 0.1, momentum cumulative, not affine, not tracked");
}

TEST(BatchNorm, RefusesInvalidShapesAndSettings) {
  EXPECT_TAPE_ERROR(BatchNorm1d(0), ErrorKind::config, "BatchNorm1d: channels must be at least 1, got 0");
  EXPECT_TAPE_ERROR(BatchNorm2d(0, {.affine = false, .track_running_stats = false}), ErrorKind::config,
                    "BatchNorm2d: channels must be at least 1, got 0");
  EXPECT_TAPE_ERROR(BatchNorm2d(2, {.eps = -1}), ErrorKind::config, "BatchNorm2d: eps must not be negative, got -1");
  EXPECT_TAPE_ERROR(BatchNorm2d(2, {.momentum = NAN}), ErrorKind::config,
                    "BatchNorm2d: momentum must be a number, got nan");
  BatchNorm1d layer(2, {.affine = false});
  EXPECT_TAPE_ERROR(layer(zeros({2})), ErrorKind::shape, "BatchNorm1d: x must be [N, C] or [N, C, L], got [2]");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3})), ErrorKind::shape, "BatchNorm1d: expected 2 channels, got x [2, 3]");
  EXPECT_TAPE_ERROR(layer(zeros({1, 2})), ErrorKind::shape,
                    "batch_norm: training needs more than one value per channel, x is [1, 2]");
  BatchNorm2d planes(2);
  EXPECT_TAPE_ERROR(planes(zeros({2, 2, 3})), ErrorKind::shape, "BatchNorm2d: x must be [N, C, H, W], got [2, 2, 3]");
}

}  // namespace
}  // namespace tape::nn
