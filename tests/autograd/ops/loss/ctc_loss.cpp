#include "autograd/ops/loss/ctc_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor labels_of(std::initializer_list<Values> values) { return tensor(values, i64); }

TEST(CtcLoss, SumsTheThreePathsOfOneLabelInTwoFrames) {
  // "a-", "-a" and "aa", with different probabilities in each frame.
  const Tensor p = tensor({{0.1, 0.6, 0.3}, {0.5, 0.3, 0.2}}, f64);
  const double paths = 0.6 * 0.5 + 0.1 * 0.3 + 0.6 * 0.3;
  EXPECT_NEAR(ctc_loss(log(p), labels_of({1}), scalar(2, i64), scalar(1, i64)).item(), -std::log(paths), 1e-14);
}

/// The gradient is minus the share of paths that have the class in the frame.
TEST(CtcLoss, HasTheShareOfPathsAsGradient) {
  const Tensor p = tensor({{0.1, 0.6, 0.3}, {0.5, 0.3, 0.2}}, f64), x = log(p).requires_grad_();
  ctc_loss(x, labels_of({1}), scalar(2, i64), scalar(1, i64)).backward();
  const double a = 0.6 * 0.5, b = 0.1 * 0.3, c = 0.6 * 0.3, all = a + b + c;
  EXPECT_TRUE(
      tensors_near(x.grad(), tensor({{-b / all, -(a + c) / all, 0}, {-a / all, -(b + c) / all, 0}}, f64), 1e-14));
}

TEST(CtcLoss, DividesByTheLengthOfEachTargetInTheMean) {
  const Tensor x = log_softmax(sample_normal({6, 3, 4}), -1), t = labels_of({{1, 2, 3}, {2, 0, 0}, {0, 0, 0}});
  const Tensor frames = labels_of({6, 6, 4}), lengths = labels_of({3, 1, 0});
  const Tensor each = ctc_loss(x, t, frames, lengths, {.reduction = Reduction::none});
  ASSERT_EQ(each.shape(), Shape({3}));
  EXPECT_NEAR(ctc_loss(x, t, frames, lengths).item(), (each[0].item() / 3 + each[1].item() + each[2].item()) / 3,
              1e-13);
  EXPECT_NEAR(ctc_loss(x, t, frames, lengths, {.reduction = Reduction::sum}).item(), sum(each).item(), 1e-13);
}

TEST(CtcLoss, IsInfiniteWithoutGradientForImpossibleTargets) {
  const Tensor t = labels_of({{1, 1}, {1, 2}}), lengths = labels_of({2, 2});
  for (const bool composed : {false, true}) {
    const Tensor x = log_softmax(sample_normal({2, 2, 3}), -1).detach().requires_grad_();
    std::optional<Composed> scope;
    if (composed) scope.emplace();
    const Tensor each = ctc_loss(x, t, labels_of({2, 2}), lengths, {.reduction = Reduction::none});
    EXPECT_EQ(each[0].item(), INFINITY);
    EXPECT_TRUE(std::isfinite(each[1].item()));
    for (const bool create_graph : {false, true}) {
      const Tensor dx = grad({sum(each)}, {x}, {.retain_graph = true, .create_graph = create_graph})[0];
      EXPECT_EQ(sum(abs(slice(dx, 1, {.end = 1}))).item(), 0) << "the impossible target has no gradient";
      EXPECT_NEAR(sum(slice(dx, 1, {.start = 1})).item(), -2, 1e-13)
          << "the other target has its full gradient in both frames";
    }
    EXPECT_NEAR(ctc_loss(x, t, labels_of({2, 2}), lengths, {.reduction = Reduction::sum, .zero_infinity = true}).item(),
                each[1].item(), 1e-14);
  }
}

TEST(CtcLoss, AllowsOnlyEmptyTargetsWithoutFrames) {
  for (const int64_t frames : {0, 3}) {
    const Tensor x = zeros({frames, 2, 3}).requires_grad_();
    for (const bool in_steps : {false, true}) {
      std::optional<Composed> scope;
      if (in_steps) scope.emplace();
      const Tensor each =
          ctc_loss(x, labels_of({{1}, {1}}), labels_of({0, 0}), labels_of({1, 0}), {.reduction = Reduction::none});
      EXPECT_TRUE(tensors_equal(each.detach(), tensor({INFINITY, 0})));
      for (const bool create_graph : {false, true}) {
        const Tensor dx = grad({sum(each)}, {x}, {.retain_graph = true, .create_graph = create_graph})[0];
        EXPECT_TRUE(tensors_equal(dx.detach(), zeros({frames, 2, 3})));
      }
    }
  }
  EXPECT_EQ(
      ctc_loss(zeros({4, 0, 3}), zeros({0, 2}, i64), zeros({0}, i64), zeros({0}, i64), {.reduction = Reduction::sum})
          .item(),
      0);
}

/// f32 retains its precision over thousands of frames.
TEST(CtcLoss, IsAccurateForLongSequences) {
  const Tensor x = log_softmax(sample_normal({3000, 1, 20}), -1);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 400; ++i) labels.push_back(1 + i * i % 19);
  const Tensor t = from_vector(labels, {1, 400}), frames = labels_of({3000}), length = labels_of({400});
  const Tensor wide = x.clone().requires_grad_(), narrow = x.to(f32).clone().requires_grad_();
  const Tensor exact = ctc_loss(wide, t, frames, length), rounded = ctc_loss(narrow, t, frames, length);
  exact.backward();
  rounded.backward();
  EXPECT_NEAR(rounded.item() / exact.item(), 1, 1e-6);
  EXPECT_TRUE(tensors_near(narrow.grad().to(f64), wide.grad(), 1e-6));
}

TEST(CtcLoss, IsBitwiseEqualForAnyThreadCount) {
  const Tensor x = log_softmax(sample_normal({60, 16, 11}), -1).to(f32), t = randint(1, 11, {16, 20});
  const Tensor frames = full({16}, 60, i64), lengths = randint(1, 21, {16});
  const int before = kernels::num_threads();
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 2, 4}) {
    kernels::set_num_threads(threads);
    const Tensor leaf = x.clone().requires_grad_();
    const Tensor each = ctc_loss(leaf, t, frames, lengths, {.reduction = Reduction::none});
    sum(each).backward();
    found.push_back(each.to_vector<float>());
    const std::vector<float> gradient = leaf.grad().to_vector<float>();
    found.back().insert(found.back().end(), gradient.begin(), gradient.end());
  }
  kernels::set_num_threads(before);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST(CtcLoss, PropagatesNaN) {
  Tensor x = zeros({3, 2, 3});
  x.mutable_data<float>()[2 * 3 + 1] = NAN;  // frame 1, sequence 0
  const Tensor each =
      ctc_loss(x, labels_of({{1}, {1}}), labels_of({3, 3}), labels_of({1, 1}), {.reduction = Reduction::none});
  EXPECT_TRUE(std::isnan(each[0].item()));
  EXPECT_TRUE(std::isfinite(each[1].item()));
}

TEST(CtcLoss, RefusesInvalidShapesLengthsAndLabels) {
  const Tensor x = zeros({5, 2, 4}), t = labels_of({{1, 2}, {3, 0}}), frames = labels_of({5, 5}),
               lengths = labels_of({2, 1});
  EXPECT_TAPE_ERROR(ctc_loss(zeros({5}), t, frames, lengths), ErrorKind::shape,
                    "ctc_loss: log_probs must be [T, N, C] or [T, C], got [5]");
  EXPECT_TAPE_ERROR(ctc_loss(zeros({5, 2, 4}, i64), t, frames, lengths), ErrorKind::dtype,
                    "ctc_loss: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(ctc_loss(x, zeros({2, 2}), frames, lengths), ErrorKind::dtype,
                    "ctc_loss: targets must be i64, got f32");
  EXPECT_TAPE_ERROR(ctc_loss(x, labels_of({{1, 2}}), frames, lengths), ErrorKind::shape,
                    "ctc_loss: targets must be [2, S] or all labels concatenated, got [1, 2]");
  EXPECT_TAPE_ERROR(ctc_loss(x, labels_of({1, 2, 3, 1}), frames, lengths), ErrorKind::shape,
                    "ctc_loss: target_lengths add up to 3, targets are [4]");
  EXPECT_TAPE_ERROR(ctc_loss(x, t, labels_of({5}), lengths), ErrorKind::shape,
                    "ctc_loss: input_lengths must be [2], got [1]");
  EXPECT_TAPE_ERROR(ctc_loss(x, t, ones({2}), lengths), ErrorKind::dtype,
                    "ctc_loss: input_lengths must be i64, got f32");
  EXPECT_TAPE_ERROR(ctc_loss(x, t, labels_of({5, 6}), lengths), ErrorKind::index,
                    "ctc_loss: input_lengths 6 at position 1 is outside [0, 6)");
  EXPECT_TAPE_ERROR(ctc_loss(x, t, frames, labels_of({2, -1})), ErrorKind::index,
                    "ctc_loss: target_lengths -1 at position 1 is outside [0, 3)");
  EXPECT_TAPE_ERROR(ctc_loss(x, t, frames, labels_of({2, 2})), ErrorKind::index,
                    "ctc_loss: the label at position [1, 1] is the blank 0");
  EXPECT_TAPE_ERROR(ctc_loss(x, labels_of({{1, 4}, {3, 0}}), frames, lengths), ErrorKind::index,
                    "ctc_loss: label 4 at position [0, 1] is outside [0, 4)");
  EXPECT_NO_THROW(ctc_loss(x, labels_of({{1, 2}, {3, 99}}), frames, lengths))
      << "values past the end of a target are not read";
  EXPECT_TAPE_ERROR(ctc_loss(x, t, frames, lengths, {.blank = 4}), ErrorKind::config,
                    "ctc_loss: blank 4 is outside [0, 4)");
}

}  // namespace
}  // namespace tape
