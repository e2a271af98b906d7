#include "autograd/ops/elementwise/promote.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/ops/rounded_f32.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

// Mixed dtypes against the reference values of tests/fixtures/make_dtypes.py.

namespace tape {
namespace {

const std::map<std::string, Tensor>& fixture() { return fixture_tensors("dtypes"); }
Tensor given(const std::string& side, DType dtype) {
  return fixture().at(fmt::format("{}/{}", side, to_string(dtype)));
}

using BinaryFunction = std::function<Tensor(const Tensor&, const Tensor&)>;
using WithNumber = std::function<Tensor(const Tensor&, const Number&)>;

/// Tolerance of a function of this dtype: exp and similar functions, and those composed of them.
double tolerance_of(DType dtype) {
  if (dtype == f64) return 1e-14;
  return dtype == f32 ? 1e-6 : dtype == f16 ? 0x1p-10 : 0x1p-7;
}

const std::map<std::string, BinaryFunction> binary_functions = {
    {"add", add},
    {"sub", sub},
    {"mul", mul},
    {"div", div},
    {"maximum", maximum},
    {"minimum", minimum},
    {"remainder", [](auto& a, auto& b) { return remainder(a, b); }},
    {"pow", [](auto& a, auto& b) { return pow(a, b); }},
    {"eq", [](auto& a, auto& b) { return eq(a, b); }},
    {"lt", [](auto& a, auto& b) { return lt(a, b); }},
    {"ge", [](auto& a, auto& b) { return ge(a, b); }},
    {"where", [](auto& a, auto& b) { return where(eq(remainder(arange(6), 2), 0), a, b); }}};

const std::map<std::string, WithNumber> functions_with_numbers = {{"add", [](auto& x, auto& s) { return x + s; }},
                                                                  {"sub", [](auto& x, auto& s) { return x - s; }},
                                                                  {"mul", [](auto& x, auto& s) { return x * s; }},
                                                                  {"div", [](auto& x, auto& s) { return x / s; }},
                                                                  {"pow", [](auto& x, auto& s) { return pow(x, s); }},
                                                                  {"remainder", [](auto& x, auto& s) { return remainder(x, s); }},
                                                                  {"eq", [](auto& x, auto& s) { return eq(x, s); }},
                                                                  {"lt", [](auto& x, auto& s) { return lt(x, s); }},
                                                                  {"ge", [](auto& x, auto& s) { return ge(x, s); }}};

const std::map<std::string, WithNumber> functions_of_numbers = {{"add", [](auto& x, auto& s) { return s + x; }},
                                                                {"sub", [](auto& x, auto& s) { return s - x; }},
                                                                {"mul", [](auto& x, auto& s) { return s * x; }},
                                                                {"div", [](auto& x, auto& s) { return s / x; }}};

const std::map<std::string, Number> numbers = {{"2", 2}, {"2.5", 2.5}};

/// Compares the fixture's tensor of that name with the result of `call`; if PyTorch refuses the call, so must `call`.
void expect_like_pytorch(const std::string& name, const std::function<Tensor()>& call, int64_t& seen) {
  const auto found = fixture().find(name);
  if (found == fixture().end()) {
    EXPECT_THROW(call(), Error) << name;
    return;
  }
  ++seen;
  Tensor y;
  ASSERT_NO_THROW(y = call()) << name;
  const bool exact = !is_floating(y.dtype()) || name.starts_with("add/") || name.starts_with("maximum/") ||
                     name.starts_with("minimum/") || name.starts_with("where/");
  EXPECT_TRUE(tensors_near(y, found->second, exact ? 0 : tolerance_of(y.dtype()))) << name;
}

TEST(Promotion, MatchesPyTorchsTables) {
  const nlohmann::json& table = fixture_json("promotion.json");
  const auto names = [&](const char* part, const std::string& key) {
    return table.at(part).at(key).get<std::string>();
  };
  for (const DType a : every_dtype) {
    for (const DType b : every_dtype) {
      const std::string pair = fmt::format("{} {}", to_string(a), to_string(b));
      EXPECT_EQ(to_string(promote_types(a, b)), names("promote_types", pair)) << pair;
      EXPECT_EQ(to_string(result_type(zeros({2}, a), zeros({}, b))), names("with_axes_and_without", pair)) << pair;
      EXPECT_EQ(to_string(result_type(zeros({}, b), zeros({2}, a))), names("with_axes_and_without", pair)) << pair;
      EXPECT_EQ(result_type(zeros({}, a), zeros({}, b)), promote_types(a, b)) << pair;
      EXPECT_EQ(can_cast(a, b), table.at("can_cast").at(pair).get<bool>()) << pair;
    }
    EXPECT_EQ(to_string(result_type(zeros({2}, a), 2)), names("with_2", std::string(to_string(a))));
    EXPECT_EQ(to_string(result_type(zeros({2}, a), 2.5)), names("with_2.5", std::string(to_string(a))));
    EXPECT_EQ(result_type(zeros({2}, a), true), a);
  }
}

TEST(Promotion, MatchesPyTorchForTensorsOfTwoDtypes) {
  int64_t seen = 0;
  for (const auto& [op, f] : binary_functions)
    for (const DType a : every_dtype)
      for (const DType b : every_dtype) {
        if ((op == "remainder" || op == "pow") && b == boolean) continue;
        const std::string left = fmt::format("{}/{}/", op, to_string(a));
        expect_like_pytorch(
            left + std::string(to_string(b)), [&] { return f(given("left", a), given("right", b)); }, seen);
        expect_like_pytorch(
            left + "only/" + std::string(to_string(b)), [&] { return f(given("left", a), given("only", b)); }, seen);
      }
  EXPECT_GT(seen, 1400);
}

TEST(Promotion, MatchesPyTorchForTensorsAndScalars) {
  int64_t seen = 0;
  for (const auto& [n, number] : numbers)
    for (const DType a : every_dtype) {
      for (const auto& [op, f] : functions_with_numbers)
        expect_like_pytorch(
            fmt::format("{}/{}/number/{}", op, to_string(a), n), [&] { return f(given("left", a), number); }, seen);
      for (const auto& [op, f] : functions_of_numbers)
        expect_like_pytorch(
            fmt::format("{}/number/{}/{}", op, n, to_string(a)), [&] { return f(given("right", a), number); }, seen);
    }
  EXPECT_GT(seen, 180);
}

TEST(Promotion, ReturnsGradientsInTheDtypeOfEachOperand) {
  for (const std::string op : {"add", "mul", "div"})
    for (const DType a : {f16, bf16, f32, f64})
      for (const DType b : {f16, bf16, f32, f64}) {
        const Tensor x = given("left", a).clone().requires_grad_(), y = given("right", b).clone().requires_grad_();
        sum(binary_functions.at(op)(x, y)).backward();
        const std::string name = fmt::format("grad/{}/{}/{}", op, to_string(a), to_string(b));
        const double tolerance = std::max(tolerance_of(a), tolerance_of(b));
        EXPECT_TRUE(tensors_near(x.grad(), fixture().at(name + ".0"), 100 * tolerance)) << name;
        EXPECT_TRUE(tensors_near(y.grad(), fixture().at(name + ".1"), 100 * tolerance)) << name;
      }
}

TEST(Promotion, RefusesToSubtractBool) {
  const Tensor flags = tensor({1, 0}, boolean);
  EXPECT_TAPE_ERROR(flags - flags, ErrorKind::dtype,
                    "sub: bool cannot be subtracted: bool - bool; use logical_xor or logical_not");
  EXPECT_TAPE_ERROR(1 - flags, ErrorKind::dtype,
                    "sub: bool cannot be subtracted: i64 - bool; use logical_xor or logical_not");
  EXPECT_TAPE_ERROR(-flags, ErrorKind::dtype, "neg: needs a floating dtype, got bool");
}

TEST(StoredDtypes, CastLikePyTorch) {
  for (const DType from : every_dtype)
    for (const DType to : every_dtype) {
      const auto found = fixture().find(fmt::format("cast/{}/{}", to_string(from), to_string(to)));
      if (found == fixture().end()) continue;  // values that do not fit
      EXPECT_TRUE(tensors_equal(given("left", from).to(to), found->second)) << found->first;
    }
  for (const DType half : {f16, bf16}) EXPECT_TRUE(tensors_equal(given("hard", f32).to(half), given("hard", half)));
}

TEST(StoredDtypes, ReduceLikePyTorch) {
  const std::map<std::string, std::function<Tensor(const Tensor&)>> reductions = {
      {"sum", [](auto& x) { return sum(x); }},   {"mean", [](auto& x) { return mean(x); }},
      {"max", [](auto& x) { return max(x); }},   {"min", [](auto& x) { return min(x); }},
      {"prod", [](auto& x) { return prod(x); }}, {"argmax", [](auto& x) { return argmax(x, 0); }},
      {"var", [](auto& x) { return var(x); }},   {"logsumexp", [](auto& x) { return logsumexp(x, 0); }}};
  int64_t seen = 0;
  for (const auto& [op, f] : reductions)
    for (const DType a : every_dtype) {
      if (op == "prod" && is_half(a)) continue;
      if (op == "argmax" && a == boolean) continue;  // unsupported by PyTorch
      if (is_floating(a) || (op != "mean" && op != "var" && op != "logsumexp"))
        expect_like_pytorch(
            fmt::format("reduce/{}/{}", op, to_string(a)), [&] { return f(given("left", a)); }, seen);
    }
  EXPECT_GT(seen, 40);
}

TEST(StoredDtypes, SupportTheFunctionsThatPyTorchDoes) {
  const std::map<std::string, std::function<Tensor(const Tensor&)>> functions = {
      {"exp", exp},
      {"tanh", tanh},
      {"sqrt", sqrt},
      {"abs", abs},
      {"gelu", gelu},
      {"neg", neg},
      {"softmax", [](auto& x) { return softmax(x, 0); }}};
  int64_t seen = 0;
  for (const auto& [op, f] : functions)
    for (const DType a : every_dtype)
      if (is_floating(a) || (op == "neg" && a != boolean))
        expect_like_pytorch(
            fmt::format("of/{}/{}", op, to_string(a)), [&] { return f(given("left", a)); }, seen);
  EXPECT_GT(seen, 30);
}

TEST(StoredDtypes, AreMovedUnchanged) {
  for (const DType dtype : every_dtype) {
    const Tensor x = reshape(given("left", dtype), {2, 3}), rows = x.to(f64);
    const auto same = [&](const Tensor& moved, const Tensor& expected) {
      EXPECT_TRUE(tensors_equal(moved, expected.to(dtype))) << to_string(dtype);
    };
    if (dtype == i64) continue;  // its values do not fit f64
    same(transpose(x), transpose(rows));
    same(x[1], rows[1]);
    same(slice(x, 1, {.start = 1}), slice(rows, 1, {.start = 1}));
    same(cat({x, x}, 1), cat({rows, rows}, 1));
    same(stack({x, x}, 1), stack({rows, rows}, 1));
    same(index_select(x, 1, tensor({2, 0}, i64)), index_select(rows, 1, tensor({2, 0}, i64)));
    same(gather(x, 1, tensor({{2}, {0}}, i64)), gather(rows, 1, tensor({{2}, {0}}, i64)));
    same(tril(x), tril(rows));
    same(pad(x, {{1, 0}}, 1), pad(rows, {{1, 0}}, 1));
    same(expand_to(x, {2, 2, 3}), expand_to(rows, {2, 2, 3}));
    same(masked_fill(x, tensor({1, 0, 0}, boolean), 1), masked_fill(rows, tensor({1, 0, 0}, boolean), 1));
    same(scatter(x, 1, tensor({{2}, {0}}, i64), ones({2, 1}, dtype)),
         scatter(rows, 1, tensor({{2}, {0}}, i64), ones({2, 1}, f64)));
    same(unique(x).values, unique(rows).values);
    same(flip(x, 1), flip(rows, 1));
  }
}

TEST(StoredDtypes, ReturnGradientsOfMovedHalves) {
  const Tensor ids = tensor({2, 0, 2}, i64);
  for (const DType half : {f16, bf16}) {
    const auto gradients = [&](DType dtype) {
      const Tensor x = given("left", f32).to(half).to(dtype).requires_grad_(), rows = reshape(x, {2, 3});
      const Tensor y = index_select(rows, 1, ids) * gather(rows, 1, expand_to(ids, {2, 3}));
      sum(cat({y, y}, 1)[0]).backward();
      sum(embedding(reshape(x, {2, 3}), tensor({1, 1}, i64)) * 3).backward();
      return x.grad();
    };
    EXPECT_TRUE(tensors_near(gradients(half).to(f32), gradients(f32), 0.05)) << to_string(half);
  }
}

TEST(StoredDtypes, RoundProductsOfHalvesOnce) {
  const Tensor a = sample_normal({3, 5}, 1), b = sample_normal({4, 5}, 2), bias = sample_normal({4}, 3);
  for (const DType half : {f16, bf16}) {
    const Tensor x = a.to(half), w = b.to(half), shift = bias.to(half);
    EXPECT_TRUE(tensors_equal(matmul(x, transpose(w)), matmul(x.to(f32), transpose(w).to(f32)).to(half)));
    EXPECT_TRUE(tensors_equal(linear(x, w, shift), linear(x.to(f32), w.to(f32), shift.to(f32)).to(half)));
  }
  EXPECT_TAPE_ERROR(matmul(a.to(f16), transpose(b).to(bf16)), ErrorKind::dtype, "matmul: dtypes differ: f16 and bf16");
}

TEST(StoredDtypes, RoundScansSortsAndReductionsOfHalvesOnce) {
  const Tensor x = sample_distinct({3, 5}, 1) * 0.1, y = sample_distinct({3, 5}, 2) * 0.1;
  using Unary = Tensor (*)(const Tensor&);
  for (const Unary f :
       {Unary([](const Tensor& v) { return cumsum(v, 1); }), Unary([](const Tensor& v) { return cumprod(v, 1); }),
        Unary([](const Tensor& v) { return logcumsumexp(v, 0); }),
        Unary([](const Tensor& v) { return cummax(v, 0).values; }),
        Unary([](const Tensor& v) { return sort(v, 1).values; }),
        Unary([](const Tensor& v) { return topk(v, 2).values; }),
        Unary([](const Tensor& v) { return median(v, 1).values; }), Unary([](const Tensor& v) { return prod(v, 1); }),
        Unary([](const Tensor& v) { return nansum(v, 0); }), Unary([](const Tensor& v) { return norm(v, 3, 1); }),
        Unary([](const Tensor& v) { return seeded_dropout(v, 0.5, 1, 2); }),
        Unary([](const Tensor& v) { return layer_norm(v, {}, {}, 1e-5); })})
    expect_rounded_f32({x}, [f](const Tensors& in) { return f(in[0]); });
  expect_rounded_f32({x, y}, [](const Tensors& in) { return lerp(in[0], in[1], 0.25); });
  expect_rounded_f32({x, y}, [](const Tensors& in) { return linear_scan(in[0], in[1], 1); });
  EXPECT_EQ(sort(x.to(bf16), 1).indices.to_vector<int64_t>(), argsort(x, 1).to_vector<int64_t>());
}

}  // namespace
}  // namespace tape
