#include "optim/optimizer.h"

#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "optim/adam.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::optim {
namespace {

Tensor parameter(std::initializer_list<Values> values, DType dtype = f64) {
  return tensor(values, dtype).requires_grad_();
}

TEST(Optimizer, TrainsALinearModel) {
  Generator stream(3);
  const Tensor x = randn({64, 3}, f32, stream);
  const Tensor truth = reshape(tensor({1, -2, 0.5}), {3, 1}), y = matmul(x, truth) + tensor({3});
  Tensor weight = zeros({3, 1}).requires_grad_(), bias = zeros({1}).requires_grad_();
  Adam adam({weight, bias}, {.lr = 0.1});
  for (int i = 0; i < 400; ++i) {
    adam.zero_grad();
    mean(square(matmul(x, weight) + bias - y)).backward();
    adam.step();
  }
  EXPECT_TRUE(tensors_near(weight.detach(), truth, 1e-3));
  EXPECT_TRUE(tensors_near(bias.detach(), tensor({3}), 1e-3));
}

TEST(Optimizer, TreatsAccumulatedMicroBatchesAsOneBatch) {
  Generator stream(4);
  const Tensor x = randn({12, 3}, f64, stream), y = randn({12, 1}, f64, stream);
  Tensor whole = ones({3, 1}, f64).requires_grad_(), parts = ones({3, 1}, f64).requires_grad_();
  Adam of_whole({whole}), of_parts({parts});
  for (int step = 0; step < 3; ++step) {
    of_whole.zero_grad(), of_parts.zero_grad();
    mean(square(matmul(x, whole) - y)).backward();
    for (int64_t i = 0; i < 4; ++i) {
      const Tensor some_x = slice(x, 0, {.start = 3 * i, .end = 3 * i + 3}),
                   some_y = slice(y, 0, {.start = 3 * i, .end = 3 * i + 3});
      (mean(square(matmul(some_x, parts) - some_y)) / 4).backward();
    }
    EXPECT_TRUE(tensors_near(parts.grad(), whole.grad(), 1e-14));
    of_whole.step(), of_parts.step();
  }
  EXPECT_TRUE(tensors_near(parts.detach(), whole.detach(), 1e-13));
}

TEST(Optimizer, SkipsParametersWithoutAGradient) {
  Tensor a = parameter({1}), b = parameter({2});
  AdamW adamw({a, b});
  a.set_grad(tensor({1}, f64));
  adamw.step();
  EXPECT_NE(a.item(), 1);
  EXPECT_EQ(b.item(), 2);
  EXPECT_EQ(adamw.state_dict().at("1.step").item(), 0);
  adamw.zero_grad();
  EXPECT_FALSE(a.grad().defined());
  const double before = a.item();
  adamw.step();
  EXPECT_EQ(a.item(), before);
}

TEST(Optimizer, InvalidatesGraphsRecordedBeforeAStep) {
  Tensor a = parameter({1, 2});
  Sgd sgd({a});
  const Tensor loss = sum(square(a));
  a.set_grad(tensor({1, 1}, f64));
  sgd.step();
  EXPECT_THROW(loss.backward(), Error);
}

TEST(Optimizer, AcceptsParametersWithoutElements) {
  Tensor none = zeros({0, 3}).requires_grad_();
  Adam adam({none});
  none.set_grad(zeros({0, 3}));
  adam.step();
  EXPECT_EQ(adam.state_dict().at("0.step").item(), 1);
}

TEST(Optimizer, RefusesNonFiniteGradients) {
  Tensor a = parameter({1, 2}), b = parameter({1, 2}, f32);
  Adam adam({a, b});
  a.set_grad(tensor({1, 1}, f64));
  b.set_grad(tensor({1, NAN}));
  EXPECT_TAPE_ERROR(adam.step(), ErrorKind::numeric,
                    "Adam: the gradient of parameter 1 [2] contains NaN or infinity; nothing was changed");
  EXPECT_TRUE(tensors_equal(a.detach(), tensor({1, 2}, f64)));
  EXPECT_EQ(adam.state_dict().at("0.step").item(), 0);

  Sgd trusting({b}, {.lr = 1, .check_finite = false});
  trusting.step();
  EXPECT_TRUE(tensors_equal(b.detach(), tensor({0, NAN})));
}

TEST(Optimizer, RefusesHalfParameters) {
  for (const DType dtype : {f16, bf16}) {
    Tensor a = parameter({1, 2}, f32), b = parameter({1, 2}, dtype);
    Sgd sgd({a, b}, {.check_finite = dtype == f16});
    a.set_grad(tensor({1, 1}));
    b.set_grad(tensor({1, 1}, dtype));
    EXPECT_TAPE_ERROR(sgd.step(), ErrorKind::dtype,
                      fmt::format("Sgd: parameter 1 [2] is {}; keep parameters in f32, which does not round small "
                                  "updates away: an AutocastScope computes in bf16 from them",
                                  to_string(dtype)));
    EXPECT_TRUE(tensors_equal(a.detach(), tensor({1, 2})));
  }
}

TEST(Optimizer, ScalesGradientsInAScaledStep) {
  for (const bool adam : {true, false}) {
    Tensors ends;
    for (const bool folded : {true, false}) {
      Tensor p = tensor({0.3, -2.0, 5.0}, f32).requires_grad_();
      std::unique_ptr<Optimizer> optimizer;
      if (adam)
        optimizer = std::make_unique<Adam>(Tensors{p}, AdamOptions{.lr = 0.1, .weight_decay = 0.01});
      else
        optimizer = std::make_unique<Sgd>(Tensors{p}, SgdOptions{.lr = 0.1, .momentum = 0.9});
      for (int step = 0; step < 3; ++step) {
        optimizer->zero_grad();
        sum(square(p)).backward();
        if (folded)
          optimizer->step({.gradient_scale = clip_scale(grad_norm({p}), 1), .known_finite = true});
        else
          clip_grad_norm({p}, 1), optimizer->step();
      }
      ends.push_back(p.detach());
    }
    EXPECT_TRUE(tensors_equal(ends[0], ends[1]));
  }
}

TEST(Optimizer, RefusesAParameterThatChangedItsType) {
  Tensor a = parameter({1, 2});
  Adam adam({a});
  a.set_grad(tensor({1, 1}, f64));
  adam.step();
  a.set_data(tensor({1, 2, 3}));
  adam.step();  // it no longer has a gradient
  a.set_grad(tensor({1, 1, 1}));
  EXPECT_TAPE_ERROR(
      adam.step(), ErrorKind::graph,
      "Adam: parameter 0 [3] is f32, but was f64 [2] at its last step; create a new optimizer after such a change");
}

TEST(Optimizer, AllowsGroupSettingsToChangeBetweenSteps) {
  const auto make = [](const Tensor& a, const Tensor& b) {
    return Sgd({{.parameters = {a}}, {.parameters = {b}, .lr_factor = 0.5, .weight_decay = 0}},
               {.lr = 1, .weight_decay = 0.5});
  };
  Tensor a = parameter({1}), b = parameter({1});
  Sgd sgd = make(a, b);
  EXPECT_EQ(sgd.group_count(), 2u);
  EXPECT_EQ(sgd.group(0), (GroupSettings{.lr_factor = 1, .weight_decay = 0.5}));
  EXPECT_FALSE(sgd.state_dict().contains("group.1.lr_factor"));
  const auto step = [&](Sgd& optimizer, Tensor& x, Tensor& y) {
    for (Tensor* p : {&x, &y}) p->set_grad(tensor({1}, f64));
    optimizer.step();
  };
  step(sgd, a, b);
  EXPECT_EQ(a.item(), -0.5);  // 1 - (1 + 0.5)
  EXPECT_EQ(b.item(), 0.5);
  sgd.set_group(0, {.lr_factor = 1, .weight_decay = 0});
  sgd.set_group(1, {.lr_factor = 0.25, .weight_decay = 2});
  step(sgd, a, b);
  EXPECT_EQ(a.item(), -1.5);
  EXPECT_EQ(b.item(), 0);  // 0.5 - 0.25 (1 + 2 * 0.5)
  // A resume restores them; without them in the state, the constructor's settings apply.
  Tensor c = parameter({1}), d = parameter({1});
  Sgd resumed = make(c, d);
  resumed.load_state_dict(sgd.state_dict());
  EXPECT_EQ(resumed.group(1), (GroupSettings{.lr_factor = 0.25, .weight_decay = 2}));
  resumed.load_state_dict(make(c, d).state_dict());
  EXPECT_EQ(resumed.group(1), (GroupSettings{.lr_factor = 0.5, .weight_decay = 0}));
  EXPECT_TAPE_ERROR(sgd.set_group(2, {}), ErrorKind::index, "Sgd: group 2 is outside [0, 2)");
  EXPECT_TAPE_ERROR(sgd.set_group(0, {.weight_decay = -1}), ErrorKind::config,
                    "Sgd: weight_decay must be a number >= 0, got -1");
}

TEST(Optimizer, RefusesTensorsThatAreNotTrainable) {
  const Tensor a = parameter({1, 2}), plain = tensor({1}), made = a * 2;
  EXPECT_TAPE_ERROR(Adam({plain, plain.clone()}), ErrorKind::config,
                    "Adam: all 2 parameters are frozen (requires_grad is false)");
  EXPECT_TAPE_ERROR(Adam({a, zeros({3}, i64)}), ErrorKind::config,
                    "Adam: parameter 1 [3] is i64, which cannot have gradients");
  EXPECT_TAPE_ERROR(Adam({made}), ErrorKind::config, "Adam: parameter 0 [2] is the result of 'affine', not a leaf");
  EXPECT_TAPE_ERROR(Adam({Tensor()}), ErrorKind::config, "Adam: parameter 0 is undefined");
  EXPECT_TAPE_ERROR(Adam(Tensors{}), ErrorKind::config, "Adam: there are no parameters to train");
  const Tensor b = parameter({1});
  EXPECT_TAPE_ERROR(Adam({{.parameters = {b, a}}, {.parameters = {a}}}), ErrorKind::config,
                    "Adam: parameter 2 [2] is given twice, as parameters 1 and 2");
  EXPECT_TAPE_ERROR(Adam({{.parameters = {b}, .lr_factor = -1}}), ErrorKind::config,
                    "Adam: lr_factor must be a number >= 0, got -1");
  EXPECT_TAPE_ERROR(Adam({{.parameters = {b}, .weight_decay = NAN}}), ErrorKind::config,
                    "Adam: weight_decay must be a number >= 0, got nan");
}

TEST(Optimizer, AllowsTheLrToBeSet) {
  const Tensor a = parameter({1});
  Sgd sgd({a}, {.lr = 0.1});
  sgd.set_lr(0);
  EXPECT_EQ(sgd.lr(), 0);
  EXPECT_TAPE_ERROR(sgd.set_lr(-1e-3), ErrorKind::config, "Sgd: lr must be a number >= 0, got -0.001");
  EXPECT_TAPE_ERROR(sgd.set_lr(INFINITY), ErrorKind::config, "Sgd: lr must be a number >= 0, got inf");
  EXPECT_EQ(sgd.lr(), 0);
}

/// Does some steps whose gradients depend on the step and on the values.
template <class O>
void train(O& optimizer, int from, int to) {
  for (int i = from; i < to; ++i) {
    optimizer.zero_grad();
    for (Tensor& p : optimizer.parameters()) sum(sin(p * (1.0 + i)) + square(p)).backward();
    optimizer.step();
  }
}

template <class O, class Options>
void expect_exact_resume(const Options& options) {
  Tensor a = parameter({1, -2, 3}), b = parameter({0.5}, f32);
  O whole({a, b}, options);
  train(whole, 0, 3);
  whole.set_lr(0.03);
  std::map<std::string, Tensor> saved, untouched;
  for (const auto& [key, value] : whole.state_dict()) saved[key] = value.clone(), untouched[key] = value.clone();
  Tensor a2 = a.detach().clone().requires_grad_(), b2 = b.detach().clone().requires_grad_();
  train(whole, 3, 6);

  O resumed({a2, b2}, options);
  resumed.load_state_dict(saved);
  EXPECT_EQ(resumed.lr(), 0.03);
  train(resumed, 3, 6);
  EXPECT_TRUE(tensors_equal(a2.detach(), a.detach()));
  EXPECT_TRUE(tensors_equal(b2.detach(), b.detach()));
  // The loaded state is a copy, so later steps did not change it.
  for (const auto& [key, value] : saved) EXPECT_TRUE(tensors_equal(value, untouched.at(key))) << key;
}

TEST(OptimizerState, ResumesExactly) {
  expect_exact_resume<Adam>(AdamOptions{.lr = 0.1});
  expect_exact_resume<AdamW>(AdamWOptions{.lr = 0.1});
  expect_exact_resume<Sgd>(SgdOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.2});
  expect_exact_resume<Sgd>(SgdOptions{.lr = 0.1});
}

TEST(OptimizerState, NamesParametersByIndex) {
  Tensor a = parameter({1, 2}), b = parameter({1});
  Adam adam({a, b});
  a.set_grad(tensor({1, 1}, f64));
  adam.step();
  std::vector<std::string> keys;
  for (const auto& [key, value] : adam.state_dict()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"0.m", "0.step", "0.v", "1.step", "initial_lr", "lr"}));
}

TEST(OptimizerState, IsThatOfANewOptimizerAfterARefusedFirstStep) {
  Tensor a = parameter({1, 2}), b = parameter({1});
  Adam adam({a, b});
  a.set_grad(tensor({1, 1}, f64));
  b.set_grad(tensor({NAN}, f64));
  EXPECT_THROW(adam.step(), Error);
  std::vector<std::string> keys;
  for (const auto& [key, value] : adam.state_dict()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"0.step", "1.step", "initial_lr", "lr"}));
  Adam resumed({a, b});
  EXPECT_NO_THROW(resumed.load_state_dict(adam.state_dict()));
  adam.set_lr(0);
  resumed.load_state_dict(adam.state_dict());
  EXPECT_EQ(resumed.lr(), 0) << "as at the end of a schedule";
}

TEST(OptimizerState, ListsAllProblemsAndChangesNothing) {
  Tensor a = parameter({1, 2}), b = parameter({1});
  Adam adam({a, b}, {.lr = 0.5});
  train(adam, 0, 2);
  const auto before = adam.state_dict();
  std::map<std::string, Tensor> state = before;
  state["lr"] = scalar(-1, f64);
  state["0.m"] = zeros({3}, f64);
  state["0.v"] = zeros({2}, f32);
  state.erase("1.m");
  state["2.step"] = scalar(1, i64);
  EXPECT_TAPE_ERROR(adam.load_state_dict(state), ErrorKind::format,
                    "load_state_dict: Adam does not fit:"
                    "\n  \"lr\" must be a number >= 0, is -1"
                    "\n  \"0.m\" is f64 [3], expected f64 [2]"
                    "\n  \"0.v\" is f32 [2], expected f64 [2]"
                    "\n  missing: \"1.m\" f64 [1]"
                    "\n  unexpected: \"2.step\"");
  EXPECT_EQ(adam.lr(), 0.5);
  EXPECT_TRUE(adam.state_dict().at("0.m").is(before.at("0.m")));

  EXPECT_TAPE_ERROR(adam.load_state_dict({{"0.step", scalar(-3, i64)}, {"1.step", scalar(2, f32)}, {"lr", Tensor()}}),
                    ErrorKind::format,
                    "load_state_dict: Adam does not fit:"
                    "\n  undefined: \"lr\""
                    "\n  \"0.step\" must be from 0 to 9007199254740992, is -3"
                    "\n  \"1.step\" is f32 [], expected i64 []");
  state = before;
  state["0.step"] = full({}, 1e18, i64);
  state["0.m"] = tensor({1, NAN}, f64);
  state["0.v"] = tensor({0, -1e-9}, f64);
  state["1.m"] = tensor({INFINITY}, f64);
  EXPECT_TAPE_ERROR(adam.load_state_dict(state), ErrorKind::format,
                    "load_state_dict: Adam does not fit:"
                    "\n  \"0.step\" must be from 0 to 9007199254740992, is 1000000000000000000"
                    "\n  \"0.m\" contains NaN or infinity"
                    "\n  \"0.v\" contains a negative mean of squares"
                    "\n  \"1.m\" contains NaN or infinity");
  EXPECT_TRUE(adam.state_dict().at("0.m").is(before.at("0.m")));
  Sgd plain({a});
  train(plain, 0, 1);
  Sgd with_momentum({a}, {.momentum = 0.9});
  EXPECT_TAPE_ERROR(with_momentum.load_state_dict(plain.state_dict()), ErrorKind::format,
                    "load_state_dict: Sgd does not fit:\n  missing: \"0.momentum\" f64 [2]");
}

TEST(Optimizer, SkipsFrozenParametersUntilTheyAreUnfrozen) {
  Tensor a = full({1}, 1).requires_grad_(), b = full({1}, 1);
  Adam adam({a, b}, {.lr = 0.5});
  const auto step = [&] {
    adam.zero_grad();
    (a * b).sum().backward();
    adam.step();
  };
  step();
  EXPECT_NE(a.item(), 1);
  EXPECT_EQ(b.item(), 1);
  a.requires_grad_(false);
  b.requires_grad_();
  const double trained = a.item();
  step();
  EXPECT_EQ(a.item(), trained);
  EXPECT_NE(b.item(), 1);
}

}  // namespace
}  // namespace tape::optim
