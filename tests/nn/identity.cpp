#include "nn/identity.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Identity, ReturnsItsInput) {
  Identity layer;
  const Tensor x = randn({2, 3});
  EXPECT_TRUE(tensors_equal(layer(x), x));
  EXPECT_TRUE(layer.parameters().empty());
}

}  // namespace
}  // namespace tape::nn
