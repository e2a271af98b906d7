#include "nn/lora.h"

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Lora, AgreesWithPeft) {
  const auto check = [](const std::string& name, const LinearOptions& linear, const LoraOptions& options) {
    Linear layer(6, 5, linear);
    layer.add_adapter("default", options);
    expect_agrees_with_torch(
        TorchCase("adapters", name),
        [&](const Named& in) {
          return Named{{"y", layer(in.at("x"))}};
        },
        &layer);
  };
  check("lora", {}, {.rank = 3, .alpha = 5});
  check("lora no bias", {.bias = false}, {.rank = 2, .alpha = 8});
  check("rslora", {}, {.rank = 4, .alpha = 3, .rank_stabilized = true});
  check("dora", {}, {.rank = 2, .alpha = 4, .decomposed = true});
  check("dora no bias", {.bias = false}, {.rank = 3, .alpha = 4, .decomposed = true});
}

TEST(Lora, StartsWithoutChangingTheLayer) {
  for (const bool decomposed : {false, true}) {
    Linear layer(6, 5);
    const Tensor x = randn({3, 6});
    const Tensor before = layer(x);
    layer.add_adapter("default", {.decomposed = decomposed});
    EXPECT_LT(largest(layer(x) - before), decomposed ? 1e-6 : 1e-30);
    EXPECT_GT(largest(layer.adapter("default")->A), 0);
  }
}

/// A layer with two adapters that are not zero.
struct Adapted {
  explicit Adapted(bool decomposed = false) {
    layer.add_adapter("one", {.rank = 2, .decomposed = decomposed});
    layer.add_adapter("two", {.rank = 3, .alpha = 2});
    layer.to(f64);
    for (const char* name : {"one", "two"}) init::normal_(layer.adapter(name)->B);
  }
  Linear layer{6, 5};
  Tensor x = randn({4, 6}, f64);
};

TEST(Lora, IsPartOfTheCrossEntropyOfScores) {
  Adapted a;
  const Tensor target = tensor({0, 4, -100, 2}, i64);
  const Tensor wanted = tape::cross_entropy(a.layer(a.x), target);
  EXPECT_TRUE(tensors_equal(a.layer.cross_entropy(a.x, target), wanted));
  a.layer.merge_adapters();
  EXPECT_TRUE(tensors_near(a.layer.cross_entropy(a.x, target), wanted, 1e-12));
}

TEST(Lora, IsPartOfTheLargestScores) {
  Adapted a;
  const Tensor y = a.layer(a.x).detach();
  EXPECT_TRUE(tensors_equal(a.layer.max_with_index(a.x, 4).values, tape::max_with_index(y, 4).values));
  EXPECT_TRUE(tensors_equal(a.layer.top_k(a.x, 2, 4), keep_top_k(y, 2, 4)));
  a.layer.merge_adapters();
  EXPECT_TRUE(tensors_equal(isfinite(a.layer.top_k(a.x, 2, 4)), isfinite(keep_top_k(y, 2, 4))));
}

TEST(Lora, MergesAndUnmergesBitForBit) {
  for (const bool decomposed : {false, true}) {
    Adapted a(decomposed);
    const Tensor before = a.layer(a.x), weight = a.layer.weight.detach().clone();
    a.layer.merge_adapters();
    a.layer.merge_adapters();
    EXPECT_TRUE(a.layer.is_merged());
    EXPECT_LT(largest(a.layer(a.x) - before), 1e-12);
    EXPECT_LT(largest(linear(a.x, a.layer.weight, a.layer.bias) - before), 1e-12);
    EXPECT_GT(largest(a.layer.weight - weight), 0.01);
    a.layer.unmerge_adapters();
    EXPECT_EQ(largest(a.layer.weight - weight), 0);
    EXPECT_EQ(largest(a.layer(a.x) - before), 0);
  }
}

TEST(Lora, AddsUpSeveralAdaptersAndOmitsInactiveOnes) {
  Adapted a;
  const Tensor both = a.layer(a.x);
  a.layer.adapter("two")->active = false;
  const Tensor one = a.layer(a.x);
  a.layer.adapter("one")->active = false;
  const Tensor none = a.layer(a.x);
  a.layer.adapter("two")->active = true;
  const Tensor two = a.layer(a.x);
  EXPECT_GT(largest(one - none), 0.01);
  EXPECT_LT(largest(both - (one + two - none)), 1e-12);
}

TEST(Lora, DropsItsInputOnlyInTraining) {
  for (const bool decomposed : {false, true}) {
    Linear layer(6, 5);
    layer.eval();
    Lora& adapter = layer.add_adapter("default", {.dropout = 0.5, .decomposed = decomposed});
    EXPECT_FALSE(adapter.is_training());
    init::normal_(adapter.B);
    const Tensor x = randn({4, 6});
    EXPECT_EQ(largest(layer(x) - layer(x)), 0);
    layer.train();
    EXPECT_GT(largest(layer(x) - layer(x)), 0.01);
  }
}

TEST(Lora, DropsTheInputOfTheWholeProductWithDora) {
  Linear layer(6, 6, {.bias = false});
  layer.load_state_dict({{"weight", eye(6)}});
  Lora& adapter = layer.add_adapter("default", {.dropout = 0.5, .decomposed = true});  // B is zero
  {
    const NoGrad no_grad;
    adapter.magnitude.mul_(2);
  }
  const Tensor x = ones({50, 6}), added = layer(x) - x;  // (magnitude / norm - 1) W x
  int64_t dropped = 0, kept = 0;
  for (const float value : added.to_vector<float>()) {
    EXPECT_TRUE(value == 0 || value == 2) << value;
    ++(value == 0 ? dropped : kept);
  }
  EXPECT_GT(dropped, 100);
  EXPECT_GT(kept, 100);
}

TEST(Lora, IsListedInItsLayerUntilRemoved) {
  Adapted a;
  EXPECT_EQ(a.layer.adapter_names(), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(a.layer.state_dict().contains("lora.one.A"));
  EXPECT_EQ(a.layer.adapter("one")->settings(), "rank 2, scale 4");
  a.layer.adapter("one")->active = false;
  EXPECT_EQ(a.layer.adapter("one")->settings(), "rank 2, scale 4, not active");
  a.layer.remove_adapter("one");
  EXPECT_EQ(a.layer.adapter("one"), nullptr);
  EXPECT_FALSE(a.layer.state_dict().contains("lora.one.A"));
  EXPECT_TRUE(a.layer.state_dict().contains("lora.two.A"));
}

TEST(Lora, RefusesInvalidRanksAndScalesAndTakenOrMergedNames) {
  Linear layer(6, 5);
  EXPECT_TAPE_ERROR(layer.add_adapter("a", {.rank = 0}), ErrorKind::config, "Lora: rank must be at least 1, got 0");
  EXPECT_TAPE_ERROR(layer.add_adapter("a", {.alpha = 0}), ErrorKind::config,
                    "Lora: alpha must be greater than 0, got 0");
  EXPECT_TAPE_ERROR(Lora(zeros({2, 3, 4}), {}), ErrorKind::shape, "Lora: the weight must be [out, in], got [2, 3, 4]");
  EXPECT_TAPE_ERROR(layer.add_adapter("a.b"), ErrorKind::config,
                    "add_adapter: \"a.b\" is not a valid adapter name: it is empty or contains a dot");
  EXPECT_EQ(layer.adapter_names().size(), 0U);
  layer.add_adapter("a");
  EXPECT_TAPE_ERROR(layer.add_adapter("a"), ErrorKind::config, "module: the name \"lora.a\" is already taken");
  EXPECT_TAPE_ERROR(layer.remove_adapter("b"), ErrorKind::config, "remove_adapter: there is no adapter \"b\"");
  layer.merge_adapters();
  EXPECT_TAPE_ERROR(layer.add_adapter("b"), ErrorKind::config,
                    "add_adapter: \"b\": other adapters are merged into the weight");
  EXPECT_TAPE_ERROR(layer.remove_adapter("a"), ErrorKind::config, "remove_adapter: \"a\" is merged into the weight");
}

}  // namespace
}  // namespace tape::nn
