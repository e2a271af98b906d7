#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/tape/op.h"
#include "tests/autograd/gradcheck/wrong_gradient.h"

namespace tape {
namespace {

TEST(GradcheckJson, ContainsTheReport) {
  const auto f = [](const Tensors& in) {
    return square_with_wrong_gradient(in[0], [](const Tensor& g) { return g * 3; }) + in[1];
  };
  const GradcheckReport report = gradcheck(f, {sample_normal({2, 3}), sample_normal({3}, 2)}, {.names = {"x", "b"}});
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["share"], 1);
  EXPECT_EQ(json["out_of_time"], false);
  EXPECT_GT(json["seconds"].get<double>(), 0);
  ASSERT_EQ(json["variables"].size(), 2u);
  const nlohmann::json& x = json["variables"][0];
  EXPECT_EQ(x["name"], "x");
  EXPECT_EQ(x["shape"], (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(x["ok"], false);
  EXPECT_EQ(x["wrong"], 6);
  EXPECT_EQ(x["checked"], 6);
  EXPECT_EQ(x["worst"], report.variables[0].worst);
  EXPECT_EQ(x["analytic"], report.variables[0].analytic);
  EXPECT_EQ(x["explanation"], report.variables[0].explanation);
  EXPECT_EQ(json["variables"][1]["ok"], true);
  ASSERT_EQ(json["guilty"].size(), 1u);
  EXPECT_EQ(json["guilty"][0]["operation"], "square_with_wrong_gradient");
  EXPECT_EQ(json["guilty"][0]["derivative"], 1);
  EXPECT_EQ(json["guilty"][0]["gradient"]["name"], "input 0");
}

TEST(GradcheckJson, WritesNonFiniteValuesAsStrings) {
  GradcheckReport report;
  GradcheckResult& x = report.variables.emplace_back();
  x.name = "x\xff";
  x.max_error = INFINITY;
  x.analytic = NAN;
  x.numeric = -INFINITY;
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["variables"][0]["max_error"], "inf");
  EXPECT_EQ(json["variables"][0]["analytic"], "nan");
  EXPECT_EQ(json["variables"][0]["numeric"], "-inf");
}

TEST(GradcheckJson, ContainsUnrecordedUnregisteredAndUndecidedItems) {
  const GradcheckReport past =
      gradcheck([](const Tensors& in) { return in[0] / in[0].detach(); }, {sample_normal({3})});
  const nlohmann::json read = nlohmann::json::parse(to_json(past))["unrecorded"].at(0);
  EXPECT_EQ(read["operation"], "div");
  EXPECT_EQ(read["value"], "input 1 [3]");
  EXPECT_EQ(read["variables"], std::vector<std::string>{"input 0"});
  GradcheckReport report = gradcheck([](const Tensors& in) { return sqrt(in[0]); }, {zeros({1}, f64)});
  report.unregistered.push_back({{4, 4}, "linear", "layers.0", "layer.cpp:42"});
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["variables"][0]["undecided"], 1);
  EXPECT_EQ(json["variables"][0]["undecided_reason"], "the function is not finite below it");
  EXPECT_EQ(json["unregistered"][0]["shape"], (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(json["unregistered"][0]["module_path"], "layers.0");
}

}  // namespace
}  // namespace tape
