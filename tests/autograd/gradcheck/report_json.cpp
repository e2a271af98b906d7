#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/ops/op.h"
#include "tests/autograd/gradcheck/spoiled.h"

namespace tape {
namespace {

TEST(GradcheckJson, HoldsTheReport) {
  const auto f = [](const Tensors& in) { return square_spoiled(in[0], [](const Tensor& g) { return g * 3; }) + in[1]; };
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
  EXPECT_EQ(json["guilty"][0]["operation"], "square_spoiled");
  EXPECT_EQ(json["guilty"][0]["derivative"], 1);
  EXPECT_EQ(json["guilty"][0]["gradient"]["name"], "input 0");
}

TEST(GradcheckJson, WritesNumbersThatAreNotFiniteAsWords) {
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

}  // namespace
}  // namespace tape
