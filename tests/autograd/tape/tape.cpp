#include "autograd/tape/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using testing::ElementsAre;

Tensor leaf_of(std::initializer_list<Values> values) { return tensor(values, f64).requires_grad_(); }
Tensor leaf_of(double value) { return scalar(value, f64).requires_grad_(); }

TEST(Tape, DifferentiatesAChain) {
  const Tensor x = leaf_of({1, 2, 3});
  sum(square(x) * 2).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({4, 8, 12}, f64)));
}

TEST(Tape, ReplaysInReverseOrderOfRecording) {
  const Tensor x = leaf_of({1, 2});
  std::vector<std::string> log;
  const auto watch = [&log](const Tensor& t, const char* name) {
    Tensor(t).register_hook([&log, name](const Tensor&) {
      log.push_back(name);
      return Tensor();
    });
  };
  const Tensor a = exp(x);
  const Tensor b = sin(x);
  const Tensor c = a * b;
  const Tensor d = cos(a);
  const Tensor e = sum(d + c);
  watch(b, "b"), watch(e, "e"), watch(a, "a"), watch(d, "d"), watch(c, "c");
  e.backward();
  EXPECT_THAT(log, ElementsAre("e", "d", "c", "b", "a"));
}

TEST(Tape, AccumulatesGradientsOfFanOut) {
  const Tensor x = leaf_of(3);
  (x * x + x * 2 + x).backward();  // x^2 + 3x
  EXPECT_DOUBLE_EQ(x.grad().item(), 9);
}

TEST(Tape, AccumulatesAnIntermediateBeforeReplayingIt) {
  const Tensor x = leaf_of(0.5);
  const Tensor y = exp(x);
  int calls = 0;
  Tensor(y).register_hook([&](const Tensor& g) {
    ++calls;
    EXPECT_DOUBLE_EQ(g.item(), 1 + 2 + 3);
    return Tensor();
  });
  (y + y * 2 + y * 3).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_DOUBLE_EQ(x.grad().item(), 6 * std::exp(0.5));
}

TEST(Tape, AccumulatesOverBackwards) {
  const Tensor x = leaf_of({1, 2});
  sum(x * 3).backward();
  sum(square(x)).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({5, 7}, f64)));
  Tensor(x).zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tape, DoesNotShareGradientsBetweenLeaves) {
  const Tensor x = leaf_of({1, 2}), y = leaf_of({3, 4});
  (x + y).backward({.gradient = tensor({1, 1}, f64)});
  x.grad().mul_(10);
  EXPECT_TRUE(tensors_equal(y.grad(), tensor({1, 1}, f64)));
}

TEST(Tape, AccumulatesOutOfPlaceWithCreateGraph) {
  const Tensor x = leaf_of({1, 2});
  (sum(square(x) * x)).backward({.create_graph = true});
  const Tensor before = x.grad();
  sum(square(x)).backward({.create_graph = true});
  EXPECT_TRUE(tensors_equal(before.detach(), tensor({3, 12}, f64)));
  EXPECT_TRUE(tensors_equal(x.grad().detach(), tensor({5, 16}, f64)));
  EXPECT_TRUE(tensors_equal(grad({sum(x.grad())}, {x})[0], tensor({8, 14}, f64)));  // 6 x + 2
}

TEST(Tape, ScalesTheGradientByTheSeed) {
  const Tensor x = leaf_of({1, 2, 3});
  const Tensor seed = tensor({1, 10, 100}, f64);
  square(x).backward({.gradient = seed});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2, 40, 600}, f64)));
  EXPECT_TRUE(tensors_equal(seed, tensor({1, 10, 100}, f64)));
}

TEST(Tape, RefusesToStartWithoutASeedOrGraph) {
  const Tensor x = leaf_of({1, 2});
  EXPECT_TAPE_ERROR(
      square(x).backward(), ErrorKind::graph,
      "backward: the output is [2]; only a single element can start without a seed: pass a gradient of that shape");
  EXPECT_TAPE_ERROR(square(x).backward({.gradient = tensor({1, 2, 3}, f64)}), ErrorKind::shape,
                    "backward: the seed is f64 [3], the output is f64 [2]");
  EXPECT_TAPE_ERROR(square(x).backward({.gradient = tensor({1, 2}, f32)}), ErrorKind::shape,
                    "backward: the seed is f32 [2], the output is f64 [2]");
  EXPECT_TAPE_ERROR(sum(tensor({1, 2})).backward(), ErrorKind::graph,
                    "backward: the output [] has no graph: nothing it was computed from requires gradients");
  EXPECT_TAPE_ERROR(backward({Tensor()}, {}), ErrorKind::graph, "backward: the output is undefined");
  EXPECT_TAPE_ERROR(backward({sum(x), sum(x)}, {scalar(1, f64)}), ErrorKind::graph, "backward: 1 seeds for 2 outputs");
}

TEST(Tape, SupportsSeveralOutputs) {
  const Tensor x = leaf_of({1, 2});
  backward({sum(x), square(x)}, {scalar(2, f64), tensor({1, 10}, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2 + 2, 2 + 40}, f64)));
}

TEST(Tape, RefusesASecondBackwardUnlessRetained) {
  const Tensor x = leaf_of(2);
  const Tensor y = exp(x);
  y.backward({.retain_graph = true});
  y.backward();
  EXPECT_DOUBLE_EQ(x.grad().item(), 2 * std::exp(2.0));
  EXPECT_TAPE_ERROR(
      y.backward(), ErrorKind::graph,
      "backward: the saved values of 'exp' were freed by an earlier backward; pass retain_graph to that one");
}

TEST(Tape, RefusesGradientsThroughAFreedGraph) {
  const Tensor x = leaf_of(2), z = leaf_of(3), between = leaf_of(7);
  const Tensor y = x + z;  // saves no values
  const Tensor inner = y * 2;
  (inner * between).backward();
  for (const bool allow_unused : {true, false}) {
    for (const Tensor& through : {y, inner})
      EXPECT_TAPE_ERROR(
          grad({through * 3 + x}, {x}, {.allow_unused = allow_unused}), ErrorKind::graph,
          through.is(y)
              ? "backward: the saved values of 'add' were freed by an earlier backward; pass retain_graph to that one"
              : "backward: the saved values of 'affine' were freed by an earlier backward; pass retain_graph to that "
                "one");
    EXPECT_DOUBLE_EQ(grad({inner * 3}, {inner}, {.allow_unused = allow_unused})[0].item(), 3)
        << "the gradient stops at inner";
    const Tensor w = leaf_of(4);
    EXPECT_DOUBLE_EQ(grad({inner * w}, {w}, {.allow_unused = allow_unused})[0].item(), 10)
        << "the path to w has no freed nodes";
    EXPECT_DOUBLE_EQ(grad({inner * between}, {between}, {.allow_unused = allow_unused})[0].item(), 10)
        << "older than a freed node but not an ancestor of it";
  }
  EXPECT_FALSE(grad({inner * z}, {leaf_of(1)}, {.allow_unused = true})[0].defined());
  EXPECT_DOUBLE_EQ(x.grad().item(), 14);
}

TEST(Tape, ReleasesGradientsOfAFreedGraph) {
  const int64_t before = memory_stats().live_bytes;
  {
    const Tensor x = leaf_of(2);
    Tensor y = square(x);
    y.retain_grad();
    const Tensor z = exp(y);
    z.backward({.create_graph = true});
    grad({y.grad() + x.grad()}, {x});  // frees the graphs of both gradients
    EXPECT_TAPE_ERROR(
        grad({z * 2}, {x}), ErrorKind::graph,
        "backward: the saved values of 'exp' were freed by an earlier backward; pass retain_graph to that one");
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(Tape, FreesSavedValuesAsTheBackwardRuns) {
  constexpr int64_t kBytes = 1 << 20, kLinks = 16;
  const Tensor x = zeros({kBytes / 8}, f64).requires_grad_();
  const int64_t before = memory_stats().live_bytes;
  Tensor y = x;
  std::vector<int64_t> live;
  for (int64_t i = 0; i < kLinks; ++i) {
    y = sin(y);  // saves its input
    Tensor(y).register_hook([&live](const Tensor&) {
      live.push_back(memory_stats().live_bytes);
      return Tensor();
    });
  }
  const Tensor loss = sum(y);
  y = Tensor();
  EXPECT_GE(memory_stats().live_bytes - before, (kLinks - 1) * kBytes);
  loss.backward();
  ASSERT_EQ(std::ssize(live), kLinks);
  for (size_t i = 2; i < live.size(); ++i) EXPECT_LE(live[i], live[i - 1] - kBytes / 2) << "at node " << i;
  EXPECT_LE(memory_stats().live_bytes - before, 2 * kBytes);  // the gradient of x remains
}

TEST(Tape, PostAccumulateHooksSeeAndReplaceTheAccumulatedGradient) {
  Tensor x = leaf_of({1, 2});
  std::vector<std::vector<double>> seen;
  x.register_hook([](const Tensor& g) { return g * 2; });
  const int64_t watching =
      x.register_post_accumulate_grad_hook([&](Tensor& g) { seen.push_back(g.to_vector<double>()); });
  sum(x * 3 + x).backward();
  sum(x).backward();
  EXPECT_THAT(seen, ElementsAre(ElementsAre(8, 8), ElementsAre(10, 10)));
  grad({sum(x)}, {x});
  EXPECT_EQ(seen.size(), 2U) << "grad() does not accumulate";
  x.remove_hook(watching);
  const int64_t dropping = x.register_post_accumulate_grad_hook([](Tensor& g) { g = Tensor(); });
  sum(x).backward();
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_FALSE(x.grad().defined());
  x.remove_hook(dropping);
  sum(x).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2, 2}, f64)));
}

TEST(Tape, PostAccumulateHooksMayRemoveThemselves) {
  Tensor x = leaf_of({1, 2});
  int calls = 0;
  int64_t handle = 0;
  handle = x.register_post_accumulate_grad_hook([&](Tensor&) {
    ++calls;
    x.remove_hook(handle);
  });
  for (int i = 0; i < 2; ++i) sum(x).backward();
  EXPECT_EQ(calls, 1);
}

TEST(Tape, PostAccumulateHooksAreOnlyForLeaves) {
  Tensor x = leaf_of({1, 2}), y = exp(x), constant = tensor({1});
  EXPECT_TAPE_ERROR(
      y.register_post_accumulate_grad_hook({}), ErrorKind::graph,
      "register_post_accumulate_grad_hook: the tensor is the result of 'exp' and accumulates no gradient; use "
      "register_hook");
  EXPECT_TAPE_ERROR(constant.register_post_accumulate_grad_hook({}), ErrorKind::graph,
                    "register_post_accumulate_grad_hook: the tensor does not require gradients");
}

TEST(Tape, RetainGradKeepsAnIntermediateGradient) {
  const Tensor x = leaf_of({1, 2});
  Tensor y = square(x);
  y.retain_grad();
  const Tensor untouched = y * 1;
  sum(y * 3).backward();
  EXPECT_TRUE(tensors_equal(y.grad(), tensor({3, 3}, f64)));
  EXPECT_FALSE(untouched.grad().defined());
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({6, 12}, f64)));
}

TEST(Tape, RetainedGradientsAreAdded) {
  const Tensor x = leaf_of({1, 2});
  Tensor y = square(x);
  y.retain_grad();
  const Tensor loss = sum(y);
  loss.backward({.retain_graph = true});
  loss.backward();
  EXPECT_TRUE(tensors_equal(y.grad(), tensor({2, 2}, f64)));
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({4, 8}, f64)));
}

TEST(Tape, RetainedGradientIsACopyOfTheSeed) {
  const Tensor x = leaf_of({1, 2});
  Tensor y = square(x), seed = tensor({3, 5}, f64);
  y.retain_grad();
  y.backward({.gradient = seed});
  seed.mul_(10);
  EXPECT_TRUE(tensors_equal(y.grad(), tensor({3, 5}, f64)));
  y.grad().mul_(2);
  EXPECT_TRUE(tensors_equal(seed, tensor({30, 50}, f64)));
}

TEST(Tape, DetachCutsTheGraph) {
  const Tensor x = leaf_of({1, 2});
  const Tensor y = square(x).detach();
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  sum(y * x).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({1, 4}, f64)));
}

TEST(Tape, LetsAHookReplaceTheGradient) {
  const Tensor x = leaf_of({1, 2});
  Tensor y = x * 3;
  y.register_hook([](const Tensor& g) { return g * 10; });
  y.register_hook([](const Tensor& g) { return g + 1; });
  sum(y).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({33, 33}, f64)));
}

TEST(Tape, LetsAHookReplaceTheGradientOfASecondOutput) {
  static const Op op({.name = "twice_and_thrice"}, Origin::run_time);
  const Tensor x = leaf_of(5);
  Tensor twice = scalar(10, f64), thrice = scalar(15, f64);
  record_node(op, {x}, {twice, thrice}, {},
              [](const BackwardContext& c) -> Tensors { return {c.grad(0) * 2 + c.grad(1) * 3}; }, {});
  thrice.register_hook([](const Tensor& g) { return g * 10; });
  (twice + thrice).backward();
  EXPECT_EQ(x.grad().item(), 2 + 30);
}

TEST(Tape, LetsALeafHookSeeAndChangeTheWholeGradient) {
  Tensor x = leaf_of(2);
  x.register_hook([](const Tensor& g) {
    EXPECT_DOUBLE_EQ(g.item(), 7);
    return g * 2;
  });
  (x * 3 + x * 4).backward();
  EXPECT_DOUBLE_EQ(x.grad().item(), 14);
}

TEST(Tape, DoesNotCallARemovedHook) {
  Tensor x = leaf_of(2);
  int first = 0, second = 0;
  const int64_t handle = x.register_hook([&](const Tensor&) { return ++first, Tensor(); });
  x.register_hook([&](const Tensor&) { return ++second, Tensor(); });
  x.remove_hook(handle);
  (x * 3).backward();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(Tape, LetsAHookRemoveItself) {
  Tensor x = leaf_of(2);
  std::vector<std::string> log;
  int64_t handle = 0;
  handle = x.register_hook([&](const Tensor&) {
    log.push_back("once");
    x.remove_hook(handle);
    return Tensor();
  });
  for (const char* name : {"second", "third"})
    x.register_hook([&log, name](const Tensor&) { return log.push_back(name), Tensor(); });
  (x * 3).backward();
  EXPECT_THAT(log, ElementsAre("once", "second", "third"));
  (x * 3).backward();
  EXPECT_THAT(log, ElementsAre("once", "second", "third", "second", "third"));
}

TEST(Tape, DoesNotReuseHookHandles) {
  Tensor x = leaf_of(2);
  const int64_t first = x.register_hook([](const Tensor&) { return Tensor(); });
  x.remove_hook(first);
  int calls = 0;
  x.register_hook([&](const Tensor&) { return ++calls, Tensor(); });
  x.remove_hook(first);  // already removed: must not remove the second one
  (x * 3).backward();
  EXPECT_EQ(calls, 1);
}

TEST(Tape, RefusesAHookResultOfAnotherShape) {
  const Tensor x = leaf_of({1, 2});
  Tensor y = exp(x);
  y.register_hook([](const Tensor&) { return tensor({1, 2, 3}, f64); });
  EXPECT_TAPE_ERROR(sum(y).backward(), ErrorKind::shape,
                    "hook: the gradient of 'exp' is f64 [2], the hook returned f64 [3]");
}

TEST(Tape, RecordsNothingUnderNoGrad) {
  const Tensor x = leaf_of({1, 2});
  {
    const NoGrad no_grad;
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE(square(x).requires_grad());
    {
      const EnableGrad enable;
      EXPECT_TRUE(square(x).requires_grad());
    }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE(square(x).requires_grad());
}

TEST(Tape, KeepsModesPerThread) {
  const NoGrad no_grad;
  bool enabled = false;
  std::thread([&] { enabled = grad_enabled(); }).join();
  EXPECT_TRUE(enabled);
}

TEST(Tape, GradDoesNotAccumulate) {
  const Tensor x = leaf_of({1, 2}), y = leaf_of({3, 4});
  const Tensor z = square(x) * y;
  const Tensors g = grad({sum(z)}, {y, x});
  EXPECT_TRUE(tensors_equal(g[0], tensor({1, 4}, f64)));
  EXPECT_TRUE(tensors_equal(g[1], tensor({6, 16}, f64)));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(y.grad().defined());
}

TEST(Tape, GradAcceptsSingleTensors) {
  const Tensor x = from_vector<float>({1, 2}, {2}).requires_grad_(),
               y = from_vector<float>({3, 4}, {2}).requires_grad_();
  const Tensor loss = sum(x * x * y);
  const Tensor dx = grad(loss, x, {.retain_graph = true});
  EXPECT_EQ(dx.to_vector<float>(), (std::vector<float>{6, 16}));
  const Tensor dx_of_braces = grad(loss, {x}, {.retain_graph = true})[0];  // of a list, not the first row of a tensor
  EXPECT_EQ(dx_of_braces.to_vector<float>(), dx.to_vector<float>());
  const Tensors both = grad(loss, {x, y});
  EXPECT_EQ(both[0].to_vector<float>(), dx.to_vector<float>());
  EXPECT_EQ(both[1].to_vector<float>(), (std::vector<float>{1, 4}));
}

TEST(Tape, GradSupportsARepeatedInput) {
  const Tensor x = leaf_of({1, 2}), y = leaf_of({3, 4});
  const Tensors g = grad({sum(square(x) * y)}, {x, y, x});
  EXPECT_TRUE(tensors_equal(g[0], tensor({6, 16}, f64)));
  EXPECT_TRUE(tensors_equal(g[1], tensor({1, 4}, f64)));
  EXPECT_TRUE(tensors_equal(g[2], tensor({6, 16}, f64)));
}

TEST(Tape, GradSupportsIntermediates) {
  const Tensor x = leaf_of(2);
  const Tensor y = square(x);
  const Tensor z = y * y;
  const Tensors g = grad({z}, {y, x});
  EXPECT_DOUBLE_EQ(g[0].item(), 8);
  EXPECT_DOUBLE_EQ(g[1].item(), 32);
}

TEST(Tape, GradSupportsAnOutputAsInput) {
  const Tensor x = leaf_of(2);
  const Tensor y = square(x);
  EXPECT_DOUBLE_EQ(grad({y}, {y})[0].item(), 1);
}

TEST(Tape, GradRefusesUnusedInputsUnlessAllowed) {
  const Tensor x = leaf_of({1, 2}), unused = leaf_of({3, 4, 5});
  EXPECT_TAPE_ERROR(grad({sum(x)}, {x, unused}), ErrorKind::graph,
                    "grad: the outputs do not depend on input 1 [3]; pass allow_unused to accept that");
  const Tensors g = grad({sum(x)}, {x, unused}, {.allow_unused = true});
  EXPECT_TRUE(g[0].defined());
  EXPECT_FALSE(g[1].defined());
  EXPECT_TAPE_ERROR(grad({sum(x)}, {tensor({1})}), ErrorKind::graph, "grad: input 0 does not require gradients");
}

TEST(Tape, GradRunsOnlyNodesThatLeadToTheInputs) {
  const Tensor x = leaf_of(2), other = leaf_of(3);
  Tensor side = exp(other);
  int calls = 0;
  side.register_hook([&](const Tensor&) { return ++calls, Tensor(); });
  grad({x * side}, {x});
  EXPECT_EQ(calls, 0);
}

TEST(Tape, ComputesThirdDerivatives) {
  const Tensor x = leaf_of({1.5, -2});
  const Tensor y = square(x) * square(x);
  const Tensor seed = tensor({1, 1}, f64);
  const Tensor first = grad({y}, {x}, {.gradients = {seed}, .create_graph = true})[0];
  const Tensor second = grad({first}, {x}, {.gradients = {seed}, .create_graph = true})[0];
  const Tensor third = grad({second}, {x}, {.gradients = {seed}, .create_graph = true})[0];
  EXPECT_TRUE(tensors_near(first, tensor({13.5, -32}, f64), 1e-14));
  EXPECT_TRUE(tensors_near(second, tensor({27, 48}, f64), 1e-14));
  EXPECT_TRUE(tensors_near(third, tensor({36, -48}, f64), 1e-14));
}

TEST(Tape, RunsBackwardThroughAGradient) {
  const Tensor x = leaf_of(3), w = leaf_of(2);
  const Tensor slope = grad({w * square(x)}, {x}, {.create_graph = true})[0];  // 2 w x
  square(slope).backward();                                                    // 4 w^2 x^2
  EXPECT_DOUBLE_EQ(w.grad().item(), 8 * 2 * 9);
  EXPECT_DOUBLE_EQ(x.grad().item(), 8 * 4 * 3);
}

TEST(Tape, RefusesAnInPlaceWriteToASavedValue) {
  const Tensor x = leaf_of({1, 2});
  Tensor w = tensor({3, 4}, f64);
  const Tensor y = sum(x * w);
  w.fill_(0);
  EXPECT_TAPE_ERROR(y.backward(), ErrorKind::graph,
                    "backward of 'mul': a saved value [2] was modified in place (version 1, saved at version 0)");
}

TEST(Tape, DetectsAnInPlaceWriteThroughAView) {
  const Tensor x = leaf_of({1, 2});
  const Tensor w = tensor({{3, 4}, {5, 6}}, f64);
  Tensor row = w[1];
  ASSERT_TRUE(row.shares_storage(w));
  const Tensor y = sum(x * w);
  row.add_(tensor({1, 1}, f64));
  EXPECT_THROW(y.backward(), Error);
}

TEST(Tape, AllowsAnInPlaceWriteToAnUnsavedValue) {
  const Tensor x = leaf_of({1, 2});
  Tensor w = tensor({3, 4}, f64);
  const Tensor y = sum(x + w);
  w.fill_(0);
  y.backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({1, 1}, f64)));
}

TEST(Tape, RefusesAnInPlaceWriteToATensorThatRequiresGradients) {
  Tensor x = leaf_of({1, 2});
  EXPECT_TAPE_ERROR(x.fill_(0), ErrorKind::graph,
                    "fill_: in-place write to a tensor [2] that requires gradients; use a NoGrad scope or detach()");
  EXPECT_TAPE_ERROR(x.add_(tensor({1, 1}, f64)), ErrorKind::graph,
                    "add_: in-place write to a tensor [2] that requires gradients; use a NoGrad scope or detach()");
  const NoGrad no_grad;
  x.add_(tensor({1, 1}, f64), -0.5);
  EXPECT_TRUE(tensors_equal(x, tensor({0.5, 1.5}, f64)));
}

TEST(Tape, DetectsAParameterStepBetweenForwardAndBackward) {
  Tensor w = leaf_of({1, 2});
  const Tensor loss = sum(square(w));
  {
    const NoGrad no_grad;
    w.mul_(0.5);
  }
  EXPECT_THROW(loss.backward(), Error);
}

TEST(Tape, AllowsRequiresGradOnlyForFloatingLeaves) {
  EXPECT_TAPE_ERROR(arange(3).requires_grad_(), ErrorKind::dtype,
                    "requires_grad_: only floating tensors have gradients, this one is i64");
  Tensor y = exp(leaf_of(1));
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TAPE_ERROR(y.requires_grad_(false), ErrorKind::graph,
                    "requires_grad_: the tensor is the result of 'exp'; use detach()");
  EXPECT_TAPE_ERROR(tensor({1}).retain_grad(), ErrorKind::graph, "retain_grad: the tensor does not require gradients");
  Tensor x = leaf_of(1);
  x.requires_grad_(false);
  EXPECT_FALSE(exp(x).requires_grad());
}

TEST(Tape, NamesAnInvalidGradientFunction) {
  static const Op op({.name = "test_wrong_gradient"}, Origin::run_time);
  const Tensor x = leaf_of({1, 2});
  const Tensor few =
      record(op, {x, x}, tensor({1, 2}, f64), {}, [](const BackwardContext& c) -> Tensors { return {c.grad()}; });
  EXPECT_TAPE_ERROR(sum(few).backward(), ErrorKind::graph,
                    "backward of 'test_wrong_gradient': returned 1 gradients for 2 inputs");
  const Tensor wrong = record(op, {x}, tensor({1, 2}, f64), {}, [](const BackwardContext&) -> Tensors {
    return {tensor({1, 2, 3}, f64)};
  });
  EXPECT_TAPE_ERROR(sum(wrong).backward(), ErrorKind::shape,
                    "backward of 'test_wrong_gradient': the gradient of input 0 is f64 [3], the input is f64 [2]");
}

TEST(Tape, SumsBroadcastGradients) {
  const Tensor x = leaf_of({1, 2, 3}), s = leaf_of(2);
  const Tensor wide = ones({4, 3}, f64);
  sum(wide * x * s).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({8, 8, 8}, f64)));
  EXPECT_DOUBLE_EQ(s.grad().item(), 4 * 6);
}

/// A chain deeper than any stack: forward, backward and freeing must not recurse.
void run_chain(int64_t length) {
  const Tensor x = leaf_of(1);
  {
    Tensor y = x;
    for (int64_t i = 0; i < length; ++i) y = y + 1.0;
    EXPECT_DOUBLE_EQ(y.item(), static_cast<double>(length + 1));
    y.backward({.retain_graph = true});
    EXPECT_DOUBLE_EQ(x.grad().item(), 1);
    EXPECT_DOUBLE_EQ(grad({y}, {x}, {.retain_graph = true})[0].item(), 1);
  }
  EXPECT_EQ(x.impl().node->use_count(), 1) << "the chain was not freed";
}

TEST(Tape, SupportsADeepChain) { run_chain(100'000); }
TEST(Tape, SupportsAVeryDeepChain) { run_chain(1'000'000); }

TEST(Tape, FreesADeepChainWithoutABackward) {
  const Tensor x = leaf_of(1);
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = y * x;
  y = Tensor();
  EXPECT_EQ(x.impl().node->use_count(), 1);
}

TEST(Tape, LeaksNothing) {
  const int64_t before = memory_stats().live_bytes;
  {
    const Tensor x = zeros({1000}, f64).requires_grad_();
    const Tensor y = exp(tanh(x) * sigmoid(x));  // saves its own outputs
    sum(y).backward({.create_graph = true});
    Tensor(x).zero_grad();  // a gradient with a graph references its own leaf
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(Tape, RecordsSeparateGraphsPerThread) {
  std::vector<double> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([t, &results] {
      for (int round = 0; round < 50; ++round) {
        const Tensor x = leaf_of({1, static_cast<double>(t)});
        Tensor y = x;
        for (int i = 0; i < 20; ++i) y = y * 2 - x;
        sum(square(y)).backward();
        results[t] = x.grad().data<double>()[1];
      }
    });
  for (std::thread& thread : threads) thread.join();
  // y = x in every thread, so the gradient is d(x^2)/dx = 2 x.
  for (size_t t = 0; t < results.size(); ++t) EXPECT_DOUBLE_EQ(results[t], 2 * static_cast<double>(t));
}

TEST(Tape, LetsThreadsShareParametersForReading) {
  const Tensor w = leaf_of({2, 3});
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([t, &results, &w] {
      for (int round = 0; round < 50; ++round) {
        const Tensor x = full({2}, static_cast<double>(t), f64);
        results[t] = grad({sum(square(w * x))}, {w})[0];
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) {
    const double factor = 2 * static_cast<double>(t * t);
    EXPECT_TRUE(tensors_equal(results[t], tensor({2 * factor, 3 * factor}, f64)));
  }
}

}  // namespace
}  // namespace tape
