#include "autograd/gradcheck/registered.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"

namespace tape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OpSample doubled_sample(const char* label, double factor) {
  return {label, {sample_normal({2, 3})}, [factor](const Tensors& in) {
            return custom(
                "doubled", {in[0]}, [](const Tensors& x) { return x[0] * 2; },
                [factor](const BackwardContext& c) -> Tensors { return {c.grad() * factor}; });
          }};
}

std::vector<RegisteredCheck> checks;
const CheckSource source([] { return checks; });

/// Registers these entries for the duration of a test.
class ScopedChecks {
 public:
  explicit ScopedChecks(std::vector<RegisteredCheck> these) { checks = std::move(these); }
  ~ScopedChecks() { checks.clear(); }
};

RegisteredSample sample_of(const char* label, double factor) {
  const OpSample sample = doubled_sample(label, factor);
  return {label, [sample](Derivative derivative, const GradcheckOptions& options) {
            return derivative == Derivative::first ? gradcheck(sample.call, sample.inputs, options)
                                                   : gradgradcheck(sample.call, sample.inputs, options);
          }};
}

RegisteredSample broken_sample() {
  return {"broken",
          [](Derivative, const GradcheckOptions&) -> GradcheckReport { raise(ErrorKind::graph, "it does not run"); }};
}

TEST(RegisteredOperations, AreEachCheckedTwice) {
  const ScopedChecks these({{"b", {sample_of("right", 2)}}, {"a", {sample_of("first", 2), sample_of("other", 2)}}});
  std::vector<std::string> names;
  for (const RegisteredCheck& check : registered_checks()) names.push_back(check.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"a", "b"}));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  const RegisteredReport report = gradcheck_all_registered();
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_GE(report.entries.size(), 6u);
  EXPECT_EQ(gradcheck_all_registered({.second_derivatives = false}).entries.size(), report.entries.size() / 2);
}

TEST(RegisteredOperations, ReportWrongGradientsAndFailedRuns) {
  const ScopedChecks these({{"one", {sample_of("right", 2), sample_of("wrong", 3), broken_sample()}}});
  const RegisteredReport report = gradcheck_all_registered({.second_derivatives = false});
  EXPECT_FALSE(report.ok());
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("gradcheck: 2 of "));
  EXPECT_THAT(text, HasSubstr("one           right   first       ok"));
  EXPECT_THAT(text, HasSubstr("one           wrong   first       WRONG"));
  EXPECT_THAT(text, HasSubstr("one           broken  first       NOT CHECKED"));
  EXPECT_THAT(text, HasSubstr("one (wrong), gradient: gradcheck: 1 of 1 gradients is wrong"));
  EXPECT_THAT(text, HasSubstr("one (broken), gradient: it does not run"));
}

TEST(RegisteredOperations, ReportUndecidedAndUnregisteredEntries) {
  RegisteredReport report;
  RegisteredReport::Entry& root = report.entries.emplace_back();
  root.name = "root";
  root.label = "at zero";
  root.report = gradcheck([](const Tensors& in) { return sqrt(in[0]); }, {zeros({1}, f64)});
  RegisteredReport::Entry& layer = report.entries.emplace_back();
  layer.name = "layer";
  layer.label = "a row";
  layer.report.unregistered.push_back({{4, 4}, "linear", "", ""});
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(to_string(report), HasSubstr("root   at zero  first       UNDECIDED\n"));
  EXPECT_THAT(to_string(report), HasSubstr("layer  a row    first       NOT REGISTERED\n"));
}

TEST(RegisteredOperations, FailIfThereAreNone) {
  EXPECT_FALSE(RegisteredReport().ok());
  EXPECT_EQ(to_string(RegisteredReport()), "gradcheck: nothing is registered");
}

TEST(RegisteredOperations, RefuseASampleThatDoesNotRecordThem) {
  const Op op({.name = "never",
               .samples =
                   [] {
                     return std::vector<OpSample>{
                         {"a row", {sample_normal({3})}, [](const Tensors& in) { return exp(in[0]); }}};
                   }},
              Origin::program);
  const RegisteredCheck check = check_of(op);
  ASSERT_EQ(check.samples.size(), 1u);
  try {
    check.samples[0].check(Derivative::first, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "never: the sample 'a row' does not record this operation");
  }
}

}  // namespace
}  // namespace tape
