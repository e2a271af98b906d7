#include "nn/module/child.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/module/tensor_swap.h"
#include "nn/norm/batch_norm.h"
#include "nn/norm/layer_norm.h"
#include "nn/sequential.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

// Assignment is refused because it is ambiguous: new values or another tensor.
static_assert(!std::is_assignable_v<Parameter&, Tensor>);
static_assert(!std::is_assignable_v<Parameter&, Parameter&>);
// forward() is unreachable, because it would skip hooks and path; other members are reachable.
template <class C>
concept HasForward = requires(C child, Tensor x) { child->forward(x); };
static_assert(!HasForward<Child<Linear>&> && !HasForward<const Child<Linear>&>);
static_assert(requires(Child<Linear>& child) {
  child->weight;
  child->settings();
});

TEST(Children, AreVisitedByALoop) {
  struct Stack : Layer<Stack> {
    Children<Linear> layers{this, "layers", 3, 2, 2};
    Tensor forward(Tensor x) {
      for (auto& layer : layers) x = layer(x);
      return x;
    }
  } stack;
  const Tensor x = randn({1, 2});
  EXPECT_TRUE(tensors_equal(stack(x), stack.layers[2](stack.layers[1](stack.layers[0](x)))));
  int64_t count = 0;
  for (const auto& layer : std::as_const(stack.layers)) count += layer->weight.size(0);
  EXPECT_EQ(count, 6);
}

TEST(Child, AcceptsOptionsInBraces) {
  struct : Module {
    Child<Linear> plain{this, "plain", 4, 3}, linear{this, "linear", 4, 3, {.bias = false}};
    Child<LayerNorm> norm{this, "norm", 3, {.eps = 1e-3}};
    Children<Linear> layers{this, "layers", 2, 3, 3, {.bias = false}};
    Children<LayerNorm> norms{this, "norms", 2, 3, {.bias = false}};
  } model;
  EXPECT_TRUE(model.plain->bias.defined());
  EXPECT_FALSE(model.linear->bias.defined());
  EXPECT_EQ(model.norm->settings(), LayerNorm(3, {.eps = 1e-3}).settings());
  EXPECT_FALSE(model.layers[1]->bias.defined());
  EXPECT_FALSE(model.norms[1]->bias.defined());
  EXPECT_EQ(model.linear->type_name(), "Linear");
  Sequential net;
  net.add<Linear>(4, 3, LinearOptions{.bias = false}).add(relu);
  EXPECT_FALSE(net.at<Linear>(0).bias.defined());
}

/// A layer that reuses a model's table.
struct Reader : Layer<Reader> {
  Child<Linear> out;
  explicit Reader(Child<Linear>& shared) : out(this, "out", shared) {}
  Tensor forward(const Tensor& x) { return out(x); }
};
struct Sharing : Layer<Sharing> {
  Child<Linear> table{this, "table", 3, 3, {.bias = false}};
  Child<BatchNorm1d> norm{this, "norm", 3};
  Child<Reader> reader{this, "reader", table};
  Child<BatchNorm1d> again{this, "again", norm};
  Tensor forward(const Tensor& x) { return reader(norm(table(x))); }
};

std::vector<std::string> names(const auto& named) {
  std::vector<std::string> found;
  for (const auto& [name, value] : named) found.push_back(name);
  return found;
}
using Names = std::vector<std::string>;

TEST(Child, SharesOneModuleBetweenTwoPlaces) {
  manual_seed(1);
  Sharing model;
  EXPECT_EQ(&*model.table, &*model.reader->out);
  const Tensor x = randn({4, 3});
  EXPECT_TRUE(tensors_equal(model.reader(x), linear(x, model.table->weight)));
  EXPECT_EQ(model.parameter_count(), 9 + 6);
  EXPECT_EQ(names(model.named_modules()), (Names{"", "table", "norm", "reader"}));
  std::vector<std::string> parameters;
  for (const NamedTensor& named : model.named_parameters()) parameters.push_back(named.name);
  EXPECT_EQ(parameters, (Names{"table.weight", "norm.weight", "norm.bias"}));
  EXPECT_EQ(model.named_buffers().size(), 3u);
  EXPECT_EQ(names(model.state_dict()), (Names{"norm.bias", "norm.num_batches_tracked", "norm.running_mean",
                                              "norm.running_var", "norm.weight", "table.weight"}));
  // A file with both names, as PyTorch writes it, loads too.
  StateDict both = model.state_dict();
  both["reader.out.weight"] = both.at("table.weight");
  both["again.running_mean"] = both.at("norm.running_mean");
  EXPECT_TRUE(model.load_state_dict(both).unexpected.empty());
  model(x).backward({.gradient = ones({4, 3})});
  EXPECT_TRUE(model.table->weight.grad().defined());
}

TEST(Child, RunsASharedModuleUnderThePathOfTheCall) {
  Sharing model;
  std::vector<std::string> paths;
  model.table->register_forward_hook([&](Module&, const Tensors&, const Tensor&) -> Tensor {
    paths.push_back(ModuleScope::path());
    return {};
  });
  model(randn({2, 3}));
  EXPECT_EQ(paths, (Names{"table", "reader.out"}));
}

TEST(Child, SwapsTheTensorsOfASharedModuleOnce) {
  Sharing model;
  const Tensor weight = model.table->weight, other = zeros({3, 3});
  {
    const TensorSwap swap(model, {{weight.ref().get(), other}});
    EXPECT_TRUE(model.reader->out->weight.is(other));
  }
  EXPECT_TRUE(model.table->weight.is(weight));
}

TEST(Child, KeepsASharedModuleAliveAfterItsFirstOwner) {
  auto first = std::make_unique<Sharing>();
  struct Second : Module {
    Child<Linear> table;
    explicit Second(Child<Linear>& shared) : table(this, "table", shared) {}
  } second(first->table);
  first.reset();
  EXPECT_EQ(second.table(ones({1, 3})).shape(), (Shape{1, 3}));
}

TEST(Child, GivesParametersThePathsThatOptimizersReport) {
  Sharing model;
  model.table->weight.set_grad(full({3, 3}, INFINITY));
  optim::Sgd sgd(model.parameters());
  EXPECT_TAPE_ERROR(sgd.step(), ErrorKind::numeric,
                    "Sgd: the gradient of parameter table.weight [3, 3] contains NaN or infinity; nothing was changed");
  EXPECT_TAPE_ERROR(optim::Sgd({model.norm->bias, model.norm->bias}), ErrorKind::config,
                    "Sgd: parameter norm.bias [3] is given twice, as parameters 0 and 1");
}

}  // namespace
}  // namespace tape::nn
