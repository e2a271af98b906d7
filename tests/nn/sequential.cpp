#include "nn/sequential.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

TEST(Sequential, RunsItsLayersAndFunctionsInOrder) {
  manual_seed(1);
  Sequential net;
  net.add<Linear>(3, 4).add(relu).add<Linear>(4, 2);
  const Tensor x = randn({5, 3});
  EXPECT_TRUE(all(net(x) == net.at<Linear>(2)(relu(net.at<Linear>(0)(x)))).item<bool>());
  EXPECT_EQ(net.size(), 3);
}

TEST(Sequential, NamesLayersByPosition) {
  Sequential net;
  net.add<Linear>(3, 4).add(tanh).add<Dropout>(0.5).add<Linear>(4, 2);
  std::vector<std::string> names;
  for (const NamedTensor& named : net.named_parameters()) names.push_back(named.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias"}));
  net.eval();
  EXPECT_FALSE(net.at<Dropout>(2).is_training());
}

TEST(Sequential, CanBeAChild) {
  struct Net : Module {
    Child<Sequential> body{this, "body"};
    Net() { body->add<Linear>(2, 2).add(sigmoid); }
    Tensor forward(const Tensor& x) { return body(x); }
  } net;
  EXPECT_EQ(net.parameters().size(), 2U);
  EXPECT_TAPE_ERROR(call(net, randn({1, 3})), ErrorKind::shape,
                    "body.0: linear: inner sizes differ: x [1, 3] x weight [2, 2] (3 vs 2)");
}

TEST(Sequential, RefusesEmptyFunctionsAndInvalidPositions) {
  Sequential net;
  EXPECT_TAPE_ERROR(net(randn({1})), ErrorKind::config, "Sequential: has no layers");
  EXPECT_TAPE_ERROR(net.add(Sequential::Function()), ErrorKind::config,
                    "Sequential: the function at position 0 is empty");
  net.add(relu);
  EXPECT_TAPE_ERROR(net.at<Linear>(1), ErrorKind::index, "Sequential: position 1 is outside [0, 1)");
  EXPECT_TAPE_ERROR(net.at<Linear>(0), ErrorKind::config, "Sequential: position 0 does not hold a module of this type");
}

}  // namespace
}  // namespace tape::nn
