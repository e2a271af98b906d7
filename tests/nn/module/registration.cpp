#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/unary.h"
#include "nn/linear.h"
#include "nn/module/module.h"
#include "nn/sequential.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

class Empty : public Module {};

TEST(Registration, PartsAreListedSavedAndConverted) {
  Empty module;
  const Tensor weight = ones({2});
  EXPECT_TRUE(module.register_parameter("weight", weight).is(weight));
  module.register_buffer("count", zeros({}, i64), Persistent::no);
  module.register_module("inner", std::make_shared<Linear>(2, 3));

  const auto parameters = module.named_parameters();
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters[0].name, "weight");
  EXPECT_EQ(parameters[1].name, "inner.weight");
  EXPECT_EQ(module.named_buffers()[0].name, "count");
  EXPECT_EQ(module.state_dict().size(), 3u);
  EXPECT_TRUE(module.parameter("weight")->is(weight));
  EXPECT_EQ(module.parameter("count"), nullptr);
  EXPECT_EQ(module.buffer("count")->dtype(), i64);
  EXPECT_EQ(module.parameter("inner"), nullptr);
  ASSERT_EQ(module.named_children().size(), 1u);
  EXPECT_EQ(module.named_children()[0].first, "inner");
  module.to(f64);
  EXPECT_EQ(weight.dtype(), f64);
}

TEST(Registration, ARegisteredModuleRunsUnderItsName) {
  Sequential net;
  const auto inner = std::make_shared<Linear>(2, 3);
  net.add(relu).add(inner, [inner](const Tensor& x) { return call(*inner, x); });
  EXPECT_EQ(net(ones({1, 2})).shape(), Shape({1, 3}));
  EXPECT_TAPE_ERROR(net(ones({1, 5})), ErrorKind::shape,
                    "1: linear: inner sizes differ: x [1, 5] x weight [3, 2] (5 vs 2)");
}

TEST(Registration, UnregisteringReleasesThePart) {
  Empty module;
  const auto inner = std::make_shared<Empty>();
  module.register_module("inner", inner);
  EXPECT_EQ(inner.use_count(), 2);
  module.unregister("inner");
  EXPECT_EQ(inner.use_count(), 1);
  EXPECT_TRUE(module.named_children().empty());
  EXPECT_TAPE_ERROR(module.unregister("inner"), ErrorKind::config, "unregister: Empty has no part \"inner\"");
  Linear layer(2, 3);
  EXPECT_TRUE(layer.is_member("bias"));
  EXPECT_FALSE(layer.is_member("other"));
  EXPECT_TAPE_ERROR(layer.unregister("bias"), ErrorKind::config,
                    "unregister: \"bias\" is a member of the C++ class Linear and cannot be replaced or removed");
}

TEST(Registration, APartTakesThePlaceOfAnUnregisteredOneOfItsName) {
  Empty module;
  module.register_module("first", std::make_shared<Linear>(1, 2));
  module.register_parameter("second", ones({3}));
  module.unregister("first");
  EXPECT_FALSE(module.is_member("first"));
  EXPECT_TAPE_ERROR(module.unregister("first"), ErrorKind::config, "unregister: Empty has no part \"first\"");
  module.register_parameter("first", ones({4}));
  const auto parameters = module.named_parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "first");
  EXPECT_EQ(parameters[0].tensor.shape(), Shape({4}));
  module.unregister("first");
  module.register_buffer("first", ones({5}), Persistent::yes);
  EXPECT_EQ(module.named_buffers()[0].name, "first");
}

TEST(Registration, ASequentialListsWhatReplacedAModule) {
  Sequential net;
  net.add(std::make_shared<Linear>(2, 3), relu);
  net.unregister("0");
  EXPECT_TAPE_ERROR(net.at<Linear>(0), ErrorKind::config, "Sequential: position 0 does not hold a module of this type");
  const auto other = std::make_shared<Linear>(2, 3);
  net.register_module("0", other);
  EXPECT_EQ(&net.at<Linear>(0), other.get());
}

TEST(Registration, ANameIsTakenOnce) {
  Empty module;
  module.register_parameter("weight", ones({2}));
  EXPECT_TAPE_ERROR(module.register_module("weight", std::make_shared<Empty>()), ErrorKind::config,
                    "module: the name \"weight\" is already taken");
  EXPECT_EQ(module.named_parameters().size(), 1u);
}

TEST(Registration, AModuleCannotContainItself) {
  const auto outer = std::make_shared<Empty>(), inner = std::make_shared<Empty>();
  outer->register_module("inner", inner);
  EXPECT_TAPE_ERROR(inner->register_module("outer", outer), ErrorKind::config,
                    "register_module: \"outer\" contains the module that it should be a part of");
  EXPECT_TAPE_ERROR(outer->register_module("none", nullptr), ErrorKind::config, "register_module: \"none\" is null");
}

}  // namespace
}  // namespace tape::nn
