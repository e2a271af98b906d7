#include "nn/module/module.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

struct Small : Layer<Small> {
  Child<Linear> first{this, "first", 2, 3};
  Children<Dropout> drops{this, "drops", 2, 0.5};
  Parameter scale{this, "scale", ones({3})};
  Parameter absent{this, "absent", Tensor()};
  Buffer seen{this, "seen", zeros({1})};
  Buffer count{this, "count", zeros({1}, i64)};
  Buffer scratch{this, "scratch", zeros({4}), Persistent::no};
  Tensor forward(const Tensor& x) { return drops[1](drops[0](first(x))) * scale; }
};

/// Two projections with one shared weight.
struct Tied : Layer<Tied> {
  Child<Linear> a{this, "a", 3, 3}, b{this, "b", 3, 3, LinearOptions{.bias = false}};
  Tied() { b->weight.tie(a->weight); }
  Tensor forward(const Tensor& x) { return b(a(x)); }
};

std::vector<std::string> names_of(const std::vector<NamedTensor>& named) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : named) names.push_back(entry.name);
  return names;
}

std::vector<std::string> names_of(const StateDict& state) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Module, ListsItsMembersInOrder) {
  Small model;
  EXPECT_EQ(names_of(model.named_parameters()), (Names{"first.weight", "first.bias", "scale"}));
  EXPECT_EQ(names_of(model.named_buffers()), (Names{"seen", "count", "scratch"}));
  Names modules;
  for (const auto& [name, module] : model.named_modules()) modules.push_back(name + ":" + module->type_name());
  EXPECT_EQ(modules, (Names{":Small", "first:Linear", "drops.0:Dropout", "drops.1:Dropout"}));
  EXPECT_EQ(model.name(), "");
  EXPECT_EQ(model.first->name(), "first");
  EXPECT_EQ(model.drops[1]->name(), "drops.1");
  ASSERT_EQ(model.parameters().size(), 3u);
  EXPECT_TRUE(model.parameters()[2].is(model.scale));
  for (const Tensor& parameter : model.parameters()) EXPECT_TRUE(parameter.requires_grad());
  for (const NamedTensor& buffer : model.named_buffers()) EXPECT_FALSE(buffer.tensor.requires_grad());
}

TEST(Module, CountsParameters) {
  Small model;
  EXPECT_EQ(model.parameter_count(), 2 * 3 + 3 + 3);
  model.first->freeze();
  EXPECT_EQ(model.trainable_parameter_count(), 3);
  EXPECT_EQ(model.trainable_parameters().size(), 1U);
  EXPECT_EQ(model.parameter_count(), 12);
  model.unfreeze();
  EXPECT_EQ(model.trainable_parameter_count(), 12);
}

TEST(Module, RefusesInvalidAndDuplicateNames) {
  struct Twice : Module {
    Parameter a{this, "a", ones({1})};
    Buffer b{this, "a", ones({1})};
  };
  struct Nameless : Module {
    Parameter a{this, "", ones({1})};
  };
  struct Dotted : Module {
    Child<Dropout> a{this, "drop."};
  };
  struct SameChildren : Module {
    Children<Dropout> a{this, "drops", 1}, b{this, "drops", 1};
  };
  EXPECT_TAPE_ERROR(Twice(), ErrorKind::config, "module: the name \"a\" is already taken");
  EXPECT_TAPE_ERROR(Nameless(), ErrorKind::config, "module: \"\" is not a valid name");
  EXPECT_TAPE_ERROR(Dotted(), ErrorKind::config, "module: \"drop.\" is not a valid name");
  EXPECT_TAPE_ERROR(SameChildren(), ErrorKind::config, "module: the name \"drops.0\" is already taken");
}

TEST(Module, DetachesTheResultOfAnOperationThatBecomesAParameter) {
  struct Half : Module {
    explicit Half(const Tensor& from) : weight(this, "weight", from * 0.5) {}
    Parameter weight;
  };
  const Tensor from = ones({2}).requires_grad_();
  const Half half(from);
  EXPECT_TRUE(half.weight.is_leaf());
  sum(half.weight).backward();
  EXPECT_EQ(half.weight.grad().to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_FALSE(from.grad().defined());
}

TEST(Module, SavesParametersAndPersistentBuffers) {
  Small model;
  EXPECT_EQ(names_of(model.state_dict()), (Names{"count", "first.bias", "first.weight", "scale", "seen"}));
  const StateDict state = model.state_dict();
  EXPECT_EQ(state.at("scale").raw(), model.scale.raw());
  EXPECT_FALSE(state.at("scale").requires_grad());
  EXPECT_TRUE(model.scale.requires_grad());
}

TEST(Module, AveragesOfStateDictsRecordNothing) {
  Small model;
  StateDict average = model.state_dict();
  for (auto& [name, tensor] : average) tensor = tensor.clone();
  for (int step = 0; step < 3; ++step)
    for (auto& [name, tensor] : model.state_dict())
      if (is_floating(tensor.dtype())) average[name] = 0.9 * average[name] + 0.1 * tensor;
  EXPECT_FALSE(average.at("scale").requires_grad());
  EXPECT_TRUE(allclose(average.at("scale"), model.scale.detach()));
}

TEST(Module, LoadsAStateDict) {
  Small model;
  const Tensor handle = model.scale;
  StateDict state;
  for (const auto& [name, tensor] : model.state_dict())
    state[name] = is_floating(tensor.dtype()) ? full(tensor.shape(), 0.5, f64) : full(tensor.shape(), 7, i64);
  model.load_state_dict(state);
  EXPECT_TRUE(model.scale.is(handle));
  EXPECT_TRUE(tensors_equal(model.scale, full({3}, 0.5)));
  EXPECT_TRUE(tensors_equal(model.count, full({1}, 7, i64)));
  EXPECT_EQ(model.scale.dtype(), f32);
  EXPECT_TRUE(model.scale.is_leaf());
  EXPECT_TRUE(model.scale.requires_grad());
}

TEST(Module, LoadsPartOfAStateDictIfNotStrict) {
  Small model;
  StateDict state = model.state_dict();
  for (auto& [name, tensor] : state) tensor = full(tensor.shape(), 9, tensor.dtype());
  state.erase("first.bias");
  state["extra"] = zeros({2});
  const Tensor bias = model.first->bias.clone();
  const LoadReport report = model.load_state_dict(state, {.strict = false});
  EXPECT_EQ(report.missing, Names{"first.bias"});
  EXPECT_EQ(report.unexpected, Names{"extra"});
  EXPECT_TRUE(tensors_equal(model.scale, full({3}, 9)));
  EXPECT_TRUE(tensors_equal(model.first->bias, bias));
  state["scale"] = zeros({4});
  EXPECT_TAPE_ERROR(model.load_state_dict(state, {.strict = false}), ErrorKind::format,
                    "load_state_dict: Small does not fit:\n  shape: \"scale\" is [4], the model needs [3]");
}

TEST(Module, ListsAtMostTenProblemsOfAStateDictAndCountsTheRest) {
  Small model;
  StateDict state = model.state_dict();
  for (int i = 0; i < 40'000; ++i) state[fmt::format("x{:05}", i)] = zeros({1});
  std::string lines;
  for (int i = 0; i < 10; ++i) lines += fmt::format("\n  unexpected: \"x{:05}\" [1]", i);
  EXPECT_TAPE_ERROR(model.load_state_dict(state), ErrorKind::format,
                    fmt::format("load_state_dict: Small does not fit:{}\n  and 39990 more", lines));
}

TEST(Module, ListsAllProblemsOfAStateDictAndChangesNothing) {
  Small model;
  StateDict state;
  for (const auto& [name, tensor] : model.state_dict()) state[name] = full(tensor.shape(), 9, tensor.dtype());
  state.erase("first.bias");
  state["first.weight"] = zeros({3, 4});
  state["count"] = zeros({1});
  state["extra"] = zeros({2, 2});
  EXPECT_TAPE_ERROR(model.load_state_dict(state), ErrorKind::format,
                    "load_state_dict: Small does not fit:\n"
                    "  dtype: \"count\" is f32, the model needs i64\n"
                    "  missing: \"first.bias\" [3]\n"
                    "  shape: \"first.weight\" is [3, 4], the model needs [3, 2]\n"
                    "  unexpected: \"extra\" [2, 2]");
  EXPECT_TRUE(tensors_equal(model.scale, ones({3})));
  EXPECT_TRUE(tensors_equal(model.seen, zeros({1})));
}

TEST(Module, IsSavedToAFileAndLoaded) {
  const TemporaryFolder folder;
  const std::string path = folder / "module.safetensors";
  manual_seed(1);
  Small model, other;
  EXPECT_FALSE(tensors_equal(other.first->weight, model.first->weight));
  {
    const NoGrad no_grad;
    model.seen.fill_(3);
  }
  model.save(path);
  EXPECT_EQ(names_of(load_safetensors(path).tensors), names_of(model.state_dict()));
  other.load(path);
  for (const auto& [name, tensor] : model.state_dict())
    EXPECT_TRUE(tensors_equal(other.state_dict().at(name), tensor)) << name;
  other.to(f64);
  other.load(path);
  EXPECT_TRUE(tensors_equal(other.first->weight, model.first->weight.to(f64)));
}

TEST(Module, RefusesTwoTensorsOfOneName) {
  struct Scaled : Layer<Scaled> {
    Parameter scale{this, "scale", ones({2})};
    Tensor forward(const Tensor& x) { return x * scale; }
  };
  struct ScaledTwice : Layer<ScaledTwice> {
    Child<Scaled> inner{this, "inner"};
    Parameter scale{this, "inner.scale", ones({2})};
    Tensor forward(const Tensor& x) { return inner(x) * scale; }
  } model;
  EXPECT_TAPE_ERROR(
      model.state_dict(), ErrorKind::config,
      "state_dict: ScaledTwice has two tensors of the name \"inner.scale\"; rename a part whose name has a dot");
}

TEST(Module, NamesTheFileThatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string path = folder / "linear.safetensors";
  Linear(2, 3).save(path);
  Linear other(2, 4);
  EXPECT_TAPE_ERROR(other.load(path), ErrorKind::format,
                    path +
                        ": load_state_dict: Linear does not fit:\n  shape: \"bias\" is [3], the model needs [4]\n"
                        "  shape: \"weight\" is [3, 2], the model needs [4, 2]");
}

TEST(Module, ListsATiedParameterOnce) {
  const TemporaryFolder folder;
  const std::string path = folder / "tied.safetensors";
  Tied model;
  const Names once{"a.weight", "a.bias"};
  EXPECT_EQ(names_of(model.named_parameters()), once);
  EXPECT_EQ(model.parameter_count(), 12);
  model.save(path);
  EXPECT_EQ(names_of(load_safetensors(path).tensors), (Names{"a.bias", "a.weight"}));
  Tied other;
  other.load(path);
  EXPECT_TRUE(other.a->weight.is(other.b->weight));
  EXPECT_TRUE(tensors_equal(other.b->weight, model.a->weight));
  // A file with both names loads too.
  StateDict both = model.state_dict();
  both["b.weight"] = both.at("a.weight");
  other.load_state_dict(both);
  // Its values may have either name, but must be the same, of the right shape, under both.
  const LoadReport report = other.load_state_dict({{"b.weight", full({3, 3}, 7)}}, {.strict = false});
  EXPECT_EQ(report.missing, Names{"a.bias"});
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_TRUE(tensors_equal(other.a->weight, full({3, 3}, 7)));
  both["b.weight"] = ones({3, 3});
  EXPECT_TAPE_ERROR(other.load_state_dict(both), ErrorKind::format,
                    "load_state_dict: Tied does not fit:\n  tied: \"b.weight\" is \"a.weight\" in the model, but has "
                    "other values");
  EXPECT_EQ(other.load_state_dict(both, {.strict = false}).unexpected, Names{"b.weight"});
  EXPECT_TRUE(tensors_equal(other.b->weight, model.a->weight));
  both["b.weight"] = ones({9, 9});
  EXPECT_TAPE_ERROR(other.load_state_dict(both), ErrorKind::format,
                    "load_state_dict: Tied does not fit:\n  shape: \"b.weight\" is [9, 9], the model needs [3, 3]");
  both.erase("b.weight");
  both["b.bias"] = ones({3});  // there is no such bias: an absent parameter accepts no value
  EXPECT_TAPE_ERROR(other.load_state_dict(both), ErrorKind::format,
                    "load_state_dict: Tied does not fit:\n  unexpected: \"b.bias\" [3]");
}

TEST(Module, TiesOnlyParametersOfEqualShape) {
  Small model, other;
  EXPECT_TAPE_ERROR(model.scale.tie(other.first->weight), ErrorKind::shape,
                    "tie: the parameter is [3], the other tensor is [3, 2]");
  EXPECT_TAPE_ERROR(
      model.scale.tie(zeros({3})), ErrorKind::config,
      "tie: the other tensor [3] does not require gradients; use set_data() to give a parameter new values");
  EXPECT_TAPE_ERROR(model.scale.tie(other.scale * 2), ErrorKind::config,
                    "tie: the other tensor [3] is the result of 'affine', not a parameter");
  EXPECT_TAPE_ERROR(model.absent.tie(other.scale), ErrorKind::config, "tie: an undefined tensor cannot be tied");
  other.freeze();
  model.scale.tie(other.scale);
  EXPECT_TRUE(model.scale.is(other.scale));
}

TEST(Module, PacksWeightsForInferenceAndReleasesThemForTraining) {
  Tied model;
  model.eval();
  EXPECT_FALSE(is_kept_packed(model.a->weight));
  model.prepare_for_inference();
  EXPECT_FALSE(model.a->is_training());
  EXPECT_TRUE(is_kept_packed(model.a->weight));
  model.to(f64);
  EXPECT_TRUE(is_kept_packed(model.a->weight));
  const Tensor x = randn({16, 3}, f64), before = model(x);
  const NoGrad no_grad;
  model.a->weight.mul_(2);
  EXPECT_TRUE(tensors_near(model(x), model.b(linear(x, model.a->weight.clone(), model.a->bias)), 1e-12));
  model.train();
  EXPECT_FALSE(is_kept_packed(model.a->weight));
}

TEST(Module, ChangesItsDtypeInPlace) {
  Tied model;
  const Tensor handle = model.a->weight;
  model(ones({1, 3})).backward({.gradient = ones({1, 3})});
  EXPECT_TRUE(handle.grad().defined());
  model.to(f64);
  EXPECT_TRUE(model.a->weight.is(handle));
  EXPECT_TRUE(model.a->weight.is(model.b->weight));
  EXPECT_EQ(handle.dtype(), f64);
  EXPECT_FALSE(handle.grad().defined());
  EXPECT_TRUE(handle.requires_grad());
  model(ones({1, 3}, f64)).backward({.gradient = ones({1, 3}, f64)});
  EXPECT_EQ(handle.grad().dtype(), f64);
  Small small;
  small.freeze();
  small.to(f64);
  EXPECT_EQ(small.seen.dtype(), f64);
  EXPECT_EQ(small.count.dtype(), i64);
  EXPECT_FALSE(small.scale.requires_grad());
  EXPECT_TAPE_ERROR(small.to(i64), ErrorKind::dtype, "to: needs a floating dtype, got i64");
}

TEST(Module, SetsTheModeOfItsChildren) {
  Small model;
  EXPECT_TRUE(model.is_training());
  model.eval();
  for (const auto& [name, module] : model.named_modules()) EXPECT_FALSE(module->is_training()) << name;
  model.drops[0]->train();
  EXPECT_TRUE(model.drops[0]->is_training());
  EXPECT_FALSE(model.drops[1]->is_training());
  model.train();
  for (const auto& [name, module] : model.named_modules()) EXPECT_TRUE(module->is_training()) << name;
}

TEST(Module, FreezesParametersAndDropsGradients) {
  Small model;
  model.eval();
  model.first->freeze();
  model(ones({1, 2})).backward({.gradient = ones({1, 3})});
  EXPECT_FALSE(model.first->weight.grad().defined());
  EXPECT_TRUE(model.scale.grad().defined());
  model.zero_grad();
  EXPECT_FALSE(model.scale.grad().defined());
}

TEST(Children, ConstructModulesInPlace) {
  Small model;
  EXPECT_EQ(model.drops.size(), 2);
  model.drops.emplace_back(0.25);
  EXPECT_EQ(model.drops[2]->name(), "drops.2");
  EXPECT_EQ(model.named_modules().back().first, "drops.2");
  EXPECT_TAPE_ERROR(model.drops[3], ErrorKind::index, "drops: module 3 is outside [0, 3)");
  EXPECT_TAPE_ERROR(model.drops[-1], ErrorKind::index, "drops: module -1 is outside [0, 3)");
}

}  // namespace
}  // namespace tape::nn
