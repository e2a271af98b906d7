// Ten thousand random calls of operations. A failure reports the seed. To draw other calls:
//   TAPEFORMER_PROPERTY_SEED=7 test_autograd --gtest_filter='*Properties*'

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

constexpr int kCases = 112;  ///< per property

uint64_t base_seed() {
  const char* text = std::getenv("TAPEFORMER_PROPERTY_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

uint64_t case_seed(const std::string& name, int number) {
  uint64_t seed = 1469598103934665603u ^ base_seed();
  for (const char c : name) seed = (seed ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return (seed ^ static_cast<uint64_t>(number)) * 1099511628211u;
}

std::string describe(const Property& property, int number, const Case& drawn) {
  std::string text = fmt::format("{}, case {} of TAPEFORMER_PROPERTY_SEED={}:", property.name, number, base_seed());
  for (const Tensor& input : drawn.inputs)
    text += fmt::format(" {} {}", to_string(input.dtype()), to_string(input.shape()));
  return text;
}

/// Whether values are within 4 length ulp(magnitude), with NaN and infinity exactly where expected.
testing::AssertionResult agrees(const Tensor& result, const Case& drawn) {
  const Shape shape = shape_of(drawn.expected);
  if (result.dtype() != drawn.dtype || result.shape() != shape)
    return testing::AssertionFailure() << to_string(result.dtype()) << " " << to_string(result.shape()) << ", expected "
                                       << to_string(drawn.dtype) << " " << to_string(shape);
  const Array values = exact(result);
  const double ulp = drawn.dtype == f32 ? 0x1p-23 : 0x1p-52, smallest = drawn.dtype == f32 ? 0x1p-126 : 0x1p-1022;
  for (size_t i = 0; i < values.size(); ++i) {
    const double got = values.data()[i], expected = drawn.expected.data()[i];
    if (got == expected || (std::isnan(got) && std::isnan(expected))) continue;
    const double size = drawn.magnitude ? drawn.magnitude->data()[i] : std::abs(expected);
    const double bound = 4.0 * static_cast<double>(drawn.length) * ulp * std::max(size, smallest);
    if (!(std::abs(got - expected) <= bound) || std::isinf(expected))
      return testing::AssertionFailure() << fmt::format("element {} of {} is {:.17g}, expected {:.17g} within {:.3g}",
                                                        i, to_string(shape), got, expected, bound);
  }
  return testing::AssertionSuccess();
}

std::vector<std::string> bytes_of_each(const Tensors& tensors) {
  std::vector<std::string> all;
  for (const Tensor& x : tensors)
    all.emplace_back(static_cast<const char*>(x.raw()), static_cast<size_t>(x.numel() * size_of(x.dtype())));
  return all;
}

/// Inputs as f64 leaves, for the gradient check.
Tensors in_f64(const Tensors& inputs) {
  Tensors all;
  for (const Tensor& x : inputs) all.push_back(is_floating(x.dtype()) ? x.detach().to(f64).clone() : x);
  return all;
}

int64_t checked_elements(const Case& drawn) {
  int64_t elements = 0;
  for (const Tensor& x : drawn.inputs) elements += is_floating(x.dtype()) ? x.numel() : 0;
  return elements;
}

class Properties : public testing::TestWithParam<Property> {};
/// Properties of recorded operations; the others are composed of these or have no gradients.
class RecordedProperties : public Properties {};

std::vector<Property> recorded_properties() {
  std::vector<Property> all = all_properties();
  std::erase_if(all, [](const Property& property) { return !property.op; });
  return all;
}
std::string property_name(const testing::TestParamInfo<Property>& property) { return property.param.name; }

TEST_P(Properties, HoldForRandomInputs) {
  const Property& property = GetParam();
  for (int number = 0; number < kCases; ++number) {
    Draw draw(case_seed(property.name, number));
    const Case drawn = property.draw(draw);
    const std::vector<std::string> before = bytes_of_each(drawn.inputs);
    ASSERT_TRUE(agrees(drawn.call(drawn.inputs), drawn)) << describe(property, number, drawn);
    EXPECT_TRUE(bytes_of_each(drawn.inputs) == before) << "inputs changed: " << describe(property, number, drawn);
  }
}

/// A few of the same calls, those with few elements.
TEST_P(RecordedProperties, HaveCorrectGradients) {
  const Property& property = GetParam();
  bool recorded = false;
  for (int number = 0, checked = 0; number < kCases && checked < 6; ++number) {
    Draw draw(case_seed(property.name, number));
    const Case drawn = property.draw(draw);
    const int64_t elements = checked_elements(drawn);
    if (elements < 1 || elements > 40 || drawn.constant) continue;
    ++checked;
    Tensors inputs = in_f64(drawn.inputs);
    GradcheckOptions options;
    if (property.step > 0) options.eps = property.step;
    for (size_t i = 0; i < inputs.size(); ++i) options.names.push_back("input " + std::to_string(i));
    options.allow_zero = options.names;  // some differences are then zero, too
    EXPECT_TRUE(gradients_match(gradcheck(drawn.call, inputs, options))) << describe(property, number, drawn);
    for (Tensor& x : inputs)
      if (is_floating(x.dtype())) x.requires_grad_();
    const Tensor result = drawn.call(inputs);
    for (const Node* node : nodes_behind({result}))
      recorded = recorded || (node->op && std::string(node->op->name()) == property.op);
  }
  EXPECT_TRUE(recorded) << property.name << " never recorded " << property.op;
}

INSTANTIATE_TEST_SUITE_P(Random, Properties, testing::ValuesIn(all_properties()), property_name);
INSTANTIATE_TEST_SUITE_P(Random, RecordedProperties, testing::ValuesIn(recorded_properties()), property_name);

TEST(PropertiesOfAll, CoverEveryRegisteredOperation) {
  std::set<std::string> covered, names;
  for (const Property& property : all_properties()) {
    EXPECT_TRUE(names.insert(property.name).second) << property.name << " is listed twice";
    if (property.op) covered.insert(property.op);
  }
  for (const Op* op : registered_ops())
    EXPECT_TRUE(covered.contains(op->name())) << op->name() << " has no oracle in tests/autograd/properties";
  EXPECT_GE(names.size() * kCases, 10'000u);
}

/// The tolerance itself: an error of five units is detected, one of three is not.
TEST(PropertiesOfAll, NoticeFiveUnitsInTheLastPlace) {
  Case drawn{.inputs = {}, .call = {}, .expected = exact(ones({3})), .dtype = f32};
  Tensor x = ones({3});
  x.mutable_data<float>()[1] = 1 + 3 * 0x1p-23f;
  EXPECT_TRUE(agrees(x, drawn));
  x.mutable_data<float>()[1] = 1 + 5 * 0x1p-23f;
  EXPECT_FALSE(agrees(x, drawn));
  EXPECT_FALSE(agrees(ones({3}, f64), drawn));
  EXPECT_FALSE(agrees(ones({1, 3}), drawn));
}

}  // namespace
}  // namespace tape::properties
