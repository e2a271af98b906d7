// A program with its own operation and layer, whose test suite gets a test for each without further code, as described
// in docs/guide/checking_gradients.md.

#include <gtest/gtest.h>
#include <tapeformer.h>

#include <set>

#include "autograd/gradcheck/gtest.h"

namespace {

using namespace tape;

/// y = x / (scale + |x|); dx = dy scale / (scale + |x|)^2.
struct Softsign {
  static constexpr const char* name = "softsign";
  double scale = 1;

  Tensor forward(ForwardContext& c) const {
    c.save({c.input(0)});
    return c.input(0) / (scale + abs(c.input(0)));
  }
  Tensors backward(const BackwardContext& c) const { return {c.grad() * scale / square(scale + abs(c.saved(0)))}; }
  std::vector<AttributeRef> attributes() const { return {{"scale", scale}}; }
  static std::vector<OpSample> samples() {
    return {{"two rows", {sample_normal({2, 3})}, [](const Tensors& in) { return custom(Softsign{2}, in); }}};
  }
};

struct Squash : nn::Layer<Squash> {
  nn::Parameter weight{this, "weight", ones({3})};
  Tensor forward(const Tensor& x) { return custom(Softsign{}, {x * weight}); }
};

const nn::CustomCheck squash_check("Squash", "a batch", [](const nn::Checker& check) {
  Squash layer;
  return check(layer, {sample_normal({4, 3})});
});
const nn::CustomCheck squash_row("Squash", "a row", [](const nn::Checker& check) {
  Squash layer;
  return check(layer, {sample_normal({3})});
});

TEST(RegisteredTests, CoverEachOperationAndLayerAndBothDerivatives) {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i)
    for (int j = 0; j < all.GetTestSuite(i)->total_test_count(); ++j)
      names.insert(std::string(all.GetTestSuite(i)->name()) + "." + all.GetTestSuite(i)->GetTestInfo(j)->name());
  EXPECT_EQ(names, (std::set<std::string>{"Gradient.Squash", "Gradient.softsign",
                                          "RegisteredTests.CoverEachOperationAndLayerAndBothDerivatives",
                                          "SecondDerivative.Squash", "SecondDerivative.softsign"}));
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (tape::register_gradient_tests() != 4) return 1;
  return RUN_ALL_TESTS();
}
