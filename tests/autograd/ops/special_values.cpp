// Operations at 0, -0, infinities, NaN, the smallest and largest values, ties and empty inputs: values and gradients
// match PyTorch's (tests/fixtures/make_special_values.py) or are in a list of known deviations with reasons.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/ops/special_value_calls.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// The values that one result depends on: the arguments of an elementwise operation, or the reduced row.
struct Point {
  std::vector<double> inputs;
  double ours, theirs;
  bool gradient;

  bool has(const std::function<bool(double)>& what) const { return std::any_of(inputs.begin(), inputs.end(), what); }
  bool has_nan() const {
    return has([](double x) { return std::isnan(x); });
  }
  bool has_infinity() const {
    return has([](double x) { return std::isinf(x); });
  }
  /// Finite values whose squares or sums are not finite.
  bool has_huge() const {
    return has([](double x) { return std::abs(x) > 9e24 && std::isfinite(x); });
  }
  bool has_tiny() const {
    return has([](double x) { return x != 0 && std::abs(x) < 1.1e-25; });
  }
  bool has_zero() const {
    return has([](double x) { return x == 0; });
  }
  bool has_ties() const {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (inputs[i] == inputs[j] || (std::isnan(inputs[i]) && std::isnan(inputs[j]))) return true;
    return false;
  }
  bool is_nothing() const {
    return std::all_of(inputs.begin(), inputs.end(), [](double x) { return x == -inf; });
  }
  /// PyTorch gives NaN for inputs that are not NaN.
  bool has_a_limit() const { return std::isnan(theirs) && !std::isnan(ours) && !has_nan(); }
};

/// Cases that differ from PyTorch in both dtypes and on every path, and why; each is documented in its operation's
/// header.
struct Deviation {
  std::vector<const char*> cases;
  const char* reason;
  std::function<bool(const Point&)> holds;
};

const std::vector<Deviation>& deviations() {
  static const auto& all = *new std::vector<Deviation>{
      {{"abs", "sign", "l1_loss", "norm_1", "norm_inf", "norm_minus_inf", "elu"},
       "the sign and slope of NaN are NaN, not 0",
       [](const Point& p) { return std::isnan(p.ours); }},
      {{"gelu", "gelu_tanh", "silu", "mish"}, "infinities give the limit", &Point::has_a_limit},
      {{"gelu", "gelu_tanh"},
       "tails are exact, and the largest value is unchanged",
       [](const Point& p) { return p.inputs[0] == -20 || p.has_huge(); }},
      {{"atan2"},
       "PyTorch squares both, which underflows and overflows",
       [](const Point& p) { return p.gradient && (p.has_tiny() || p.has_huge() || p.has_infinity()); }},
      {{"remainder"},
       "exact even if a / b overflows; infinite slopes are not NaN",
       [](const Point& p) { return std::isnan(p.theirs); }},
      {{"softmax", "log_softmax", "logsumexp", "logcumsumexp"},
       "for a row of only -inf, the softmax and all slopes are 0",
       &Point::has_a_limit},
      {{"cross_entropy", "cross_entropy_smoothed"},
       "for a row of only -inf, the loss is inf and its slopes are 0",
       [](const Point& p) { return p.is_nothing(); }},
      {{"cross_entropy_ignored"}, "ignored targets have no gradient", [](const Point& p) { return p.ours == 0; }},
      {{"kl_div", "kl_div_log"},
       "where t is 0, the loss is 0 for any x",
       [](const Point& p) { return p.ours == 0 && std::isnan(p.theirs); }},
      {{"median", "topk_1", "topk_2", "topk_smallest"}, "the first of equal values is taken", &Point::has_ties},
      {{"cumprod"},
       "the product of the other values, not the total divided by one",
       [](const Point& p) { return p.gradient && (p.has_nan() || p.has_infinity()); }},
      {{"layer_norm", "rms_norm", "var", "std", "sum", "mean", "nansum", "cross_entropy", "cross_entropy_smoothed",
        "logcumsumexp", "cosine_embedding_loss"},
       "sums near the largest value overflow and round in another order",
       &Point::has_huge},
      {{"std"}, "the variance of denormals is 0", [](const Point& p) { return p.gradient && p.has_tiny(); }},
      {{"cosine_embedding_loss"},
       "lengths are clamped to at least 1e-6, where PyTorch adds 1e-12 to their squares",
       [](const Point& p) { return std::abs(p.ours - p.theirs) < 1e-3 * std::abs(p.theirs); }},
      {{"norm_minus_1"}, "the gradient is 0 where the norm is 0", [](const Point& p) { return p.ours == 0; }}};
  return all;
}

/// How the gradients are computed.
enum class Path { kernels, recorded, composed };
constexpr std::array kPaths{Path::kernels, Path::recorded, Path::composed};
constexpr std::array kPathNames{"", ", recorded", ", composed"};

bool close(double ours, double theirs, bool single, bool rows) {
  if (std::isnan(theirs) || std::isnan(ours)) return std::isnan(ours) && std::isnan(theirs);
  if (std::isinf(theirs) || std::isinf(ours)) return ours == theirs;
  // Denormals are flushed in other places; reductions of rows are rounded relative to their largest value.
  const double least = rows ? (single ? 1e-6 : 1e-14) : (single ? 2.4e-38 : 4.6e-308);
  return std::abs(ours - theirs) <= (single ? 2e-5 : 1e-8) * std::abs(theirs) + least;
}

/// A case in one dtype.
class AwkwardCase {
 public:
  AwkwardCase(std::string name, const char* dtype)
      : name_(std::move(name)), where_(name_ + "." + dtype), single_(std::string(dtype) == "f32") {
    for (size_t i = 0; saved("in", i).defined(); ++i) inputs_.push_back(saved("in", i));
  }

  /// Compares outputs and gradients; adds the deviations found to `met`.
  void compare(const TorchCall& call, Path path, std::set<const Deviation*>& met) const {
    SCOPED_TRACE(where_ + kPathNames[static_cast<size_t>(path)]);
    Tensors inputs, ends, seeds;
    for (const Tensor& x : inputs_) inputs.push_back(x.clone().requires_grad_());
    std::optional<Composed> composed;
    if (path == Path::composed) composed.emplace();
    const Tensors outputs = call(inputs);
    for (const Tensor& y : outputs)
      if (y.requires_grad()) {
        ends.push_back(y);
        seeds.push_back(ones(y.shape(), y.dtype()));
      }
    if (!ends.empty()) backward(ends, seeds, {.create_graph = path == Path::recorded});
    for (size_t i = 0; i < outputs.size(); ++i) compare("out", i, outputs[i], met);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor gradient = inputs[i].grad();
      if (saved("grad", i).defined()) compare("grad", i, gradient.defined() ? gradient : zeros_like(inputs_[i]), met);
      inputs[i].zero_grad();  // a recorded gradient refers to its input
    }
  }

 private:
  Tensor saved(const char* kind, size_t i) const {
    const auto& all = fixture_tensors("special_values");
    const auto found = all.find(fmt::format("{}/{}.{}", where_, kind, i));
    return found == all.end() ? Tensor() : found->second;
  }

  void compare(const char* kind, size_t i, const Tensor& result, std::set<const Deviation*>& met) const {
    const Tensor expected = saved(kind, i);
    ASSERT_EQ(result.shape(), expected.shape()) << kind << "." << i;
    const auto ours = result.detach().to(f64).to_vector<double>(), theirs = expected.to(f64).to_vector<double>();
    const bool rows = inputs_[0].rank() == 2;
    for (size_t at = 0; at < ours.size(); ++at) {
      if (close(ours[at], theirs[at], single_, rows)) continue;
      const Point point{inputs_at(at, ours.size()), ours[at], theirs[at], kind[0] == 'g'};
      const Deviation* const known = deviation(point);
      EXPECT_TRUE(known) << kind << "." << i << "[" << at << "]: " << ours[at] << ", PyTorch: " << theirs[at] << ", of "
                         << testing::PrintToString(point.inputs);
      met.insert(known);
    }
  }

  /// For element `at` of `count`: the values at that index, or the rows it is computed from.
  std::vector<double> inputs_at(size_t at, size_t count) const {
    std::vector<double> found;
    for (const Tensor& x : inputs_) {
      const auto values = x.to(f64).to_vector<double>();
      const size_t rows = static_cast<size_t>(x.size(0)), width = values.size() / rows, row = at * rows / count;
      for (size_t c = 0; c < width; ++c) found.push_back(values[row * width + c]);
    }
    return found;
  }

  const Deviation* deviation(const Point& point) const {
    for (const Deviation& known : deviations())
      if (std::ranges::find(known.cases, name_) != known.cases.end() && known.holds(point)) return &known;
    return nullptr;
  }

  const std::string name_, where_;
  const bool single_;
  Tensors inputs_;
};

class SpecialValues : public testing::TestWithParam<std::string> {};

TEST_P(SpecialValues, MatchPyTorch) {
  const TorchCalls calls = special_value_calls();
  std::set<const Deviation*> met;
  for (const char* dtype : {"f64", "f32"})
    for (const Path path : kPaths) AwkwardCase(GetParam(), dtype).compare(calls.at(GetParam()), path, met);
  for (const Deviation& known : deviations()) {
    const bool listed = std::ranges::find(known.cases, GetParam()) != known.cases.end();
    EXPECT_TRUE(!listed || met.contains(&known))
        << "matches PyTorch now and is no longer a deviation: " << known.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SpecialValues, testing::ValuesIn(case_names(special_value_calls())),
                         [](const auto& name) { return name.param; });

TEST(SpecialValueCases, CoverTheWholeFixture) {
  TorchCalls both;
  for (const auto& [name, call] : special_value_calls())
    for (const char* dtype : {".f64", ".f32"}) both[name + dtype] = call;
  expect_all_called("special_values", both);
}

/// Registered operations without a case, and why.
const std::map<std::string, std::vector<const char*>>& left_out() {
  static const auto& all = *new std::map<std::string, std::vector<const char*>>{
      {"they move, copy or select values and compute none",
       {"alias",     "cast", "checkpoint", "clone",       "diag_embed",     "diagonal", "embedding",
        "expand",    "flip", "index_add",  "index_copy",  "index_select",   "pad",      "permute",
        "put_slice", "roll", "scatter",    "scatter_add", "scatter_reduce", "split",    "sum_to",
        "trace",     "tril", "triu",       "unfold",      "unslice"}},
      {"they are sums of products, or windows",
       {"avg_pool1d", "avg_pool2d", "conv1d", "conv2d", "cross", "kron", "linear", "linear_scan", "matmul",
        "max_pool1d", "max_pool2d", "outer", "rotary_embedding", "scaled_dot_product_attention"}},
      {"they are layer_norm over other axes", {"batch_norm", "group_norm"}},
      {"they draw random numbers", {"dropout", "gumbel_softmax"}},
      {"they are composed of cross_entropy and logsumexp", {"ctc_loss", "linear_cross_entropy"}},
      {"their awkward points are singular matrices (linalg.cpp)",
       {"cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "matrix_exp", "matrix_norm", "pinv", "qr", "slogdet",
        "solve", "solve_triangular", "svd", "svdvals"}}};
  return all;
}

/// The operations that a call records.
struct Recorded : Observer {
  void on_record(const Op& op, TensorList, TensorList, AttributeList) override { ops.insert(op.name()); }
  std::set<std::string> ops;
};

TEST(SpecialValueCases, CoverEveryOperation) {
  std::set<std::string> others;
  for (const auto& [reason, ops] : left_out()) others.insert(ops.begin(), ops.end());
  const Recorded recorded;
  for (const auto& [name, call] : special_value_calls()) {
    Tensors inputs;
    for (size_t i = 0; fixture_tensors("special_values").contains(fmt::format("{}.f64/in.{}", name, i)); ++i)
      inputs.push_back(
          fixture_tensors("special_values").at(fmt::format("{}.f64/in.{}", name, i)).clone().requires_grad_());
    call(inputs);
  }
  for (const Op* op : registered_ops()) {
    EXPECT_TRUE(recorded.ops.contains(op->name()) || others.contains(op->name()))
        << op->name() << " has no case in tests/fixtures/make_special_values.py";
    EXPECT_FALSE(recorded.ops.contains(op->name()) && others.contains(op->name())) << op->name() << " has a case";
  }
}

}  // namespace
}  // namespace tape
