// Linear algebra against torch.linalg: the cases of tests/fixtures/make_linalg.py, in f64 and f32.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

namespace tape::linalg {
namespace {

using Values = std::map<std::string, Tensor>;

struct LinalgCase {
  std::string name;
  std::function<Values(const Tensor& a, const Tensor& b)> call;
};

LinalgCase one(const char* name, std::function<Tensor(const Tensor&)> call) {
  return {name, [call](const Tensor& a, const Tensor&) { return Values{{"y", call(a)}}; }};
}
LinalgCase two(const char* name, std::function<Tensor(const Tensor&, const Tensor&)> call) {
  return {name, [call](const Tensor& a, const Tensor& b) { return Values{{"y", call(a, b)}}; }};
}

LinalgCase qr_case(const char* name, QrMode mode = QrMode::reduced) {
  return {name, [mode](const Tensor& a, const Tensor&) {
            const Qr both = qr(a, mode);
            return Values{{"q", square(both.q)}, {"r", square(both.r)}, {"a", matmul(both.q, both.r)}};
          }};
}
LinalgCase svd_case(const char* name, bool full = false) {
  return {name, [full](const Tensor& a, const Tensor&) {
            const Svd all = svd(a, {.full_matrices = full});
            const int64_t k = all.s.size(-1);
            const Tensor u = slice(all.u, -1, {.end = k}), vh = slice(all.vh, -2, {.end = k});
            return Values{{"u", square(u)}, {"s", all.s}, {"vh", square(vh)}, {"polar", matmul(u, vh)}};
          }};
}
LinalgCase eigh_case(const char* name) {
  return {name, [](const Tensor& a, const Tensor&) {
            const Eigh both = eigh(a + transpose(a));
            return Values{{"w", both.eigenvalues}, {"v", square(both.eigenvectors)}};
          }};
}
LinalgCase lstsq_case(const char* name) {
  return {name, [](const Tensor& a, const Tensor& b) {
            const Lstsq found = lstsq(a, b);
            Values all{{"x", found.solution}, {"s", found.singular_values}};
            if (found.residuals.numel() > 0) all["residuals"] = found.residuals;
            return all;
          }};
}
LinalgCase norm_case(const std::string& text, double order) {
  return one(("matrix_norm " + text).c_str(), [order](const Tensor& a) { return matrix_norm(a, order); });
}
LinalgCase power_case(int64_t n) {
  return one(("matrix_power " + std::to_string(n)).c_str(), [n](const Tensor& a) { return matrix_power(a * 0.25, n); });
}

std::vector<LinalgCase> factorization_cases() {
  return {one("cholesky", [](const Tensor& a) { return cholesky(a); }),
          one("cholesky upper", [](const Tensor& a) { return cholesky(a, {.upper = true}); }),
          qr_case("qr square"),
          qr_case("qr tall"),
          qr_case("qr wide"),
          qr_case("qr complete", QrMode::complete),
          eigh_case("eigh"),
          eigh_case("eigh upper"),
          one("eigvalsh", [](const Tensor& a) { return eigvalsh(a + transpose(a)); }),
          svd_case("svd square"),
          svd_case("svd tall"),
          svd_case("svd wide"),
          svd_case("svd full", true),
          one("svdvals", svdvals)};
}

std::vector<LinalgCase> equation_cases() {
  const auto plain = [](const Tensor& a, const Tensor& b) { return solve(a, b); };
  const auto triangular = [](TriangularOptions options) {
    return [options](const Tensor& a, const Tensor& b) { return solve_triangular(a, b, options); };
  };
  return {
      two("solve", plain),
      two("solve vector", plain),
      two("solve vectors", plain),
      two("solve broadcast", plain),
      two("solve right", [](const Tensor& a, const Tensor& b) { return solve(a, b, {.left = false}); }),
      two("solve_triangular lower", triangular({})),
      two("solve_triangular right", triangular({.upper = true, .left = false})),
      two("solve_triangular unit", triangular({.upper = true, .unitriangular = true})),
      one("inv", inv),
      one("pinv tall", [](const Tensor& a) { return pinv(a); }),
      one("pinv wide", [](const Tensor& a) { return pinv(a); }),
      one("pinv deficient", [](const Tensor& a) { return pinv(a, {.rtol = 1e-3}); }),
      one("pinv atol", [](const Tensor& a) { return pinv(a, {.atol = 1e-3}); }),
      one("pinv tolerances", [](const Tensor& a) { return pinv(a, {.atol = 1e-3, .rtol = 1e-9}); }),
      one("pinv hermitian", [](const Tensor& a) { return pinv(a + transpose(a), {.hermitian = true}); }),
      one("pinv hermitian rtol",
          [](const Tensor& a) { return pinv(matmul(a, a, {.transpose_b = true}), {.rtol = 1e-3, .hermitian = true}); }),
      lstsq_case("lstsq tall"),
      lstsq_case("lstsq wide")};
}

std::vector<LinalgCase> number_cases() {
  return {one("det", det),
          one("det singular", det),
          LinalgCase{"slogdet",
                     [](const Tensor& a, const Tensor&) {
                       const Slogdet both = slogdet(a);
                       return Values{{"sign", both.sign}, {"logabsdet", both.logabsdet}};
                     }},
          one("matrix_norm fro", [](const Tensor& a) { return matrix_norm(a); }),
          one("matrix_norm nuc", [](const Tensor& a) { return matrix_norm(a, MatrixNorm::nuc); }),
          norm_case("1", 1),
          norm_case("-1", -1),
          norm_case("2", 2),
          norm_case("-2", -2),
          norm_case("inf", inf),
          norm_case("-inf", -inf),
          one("matrix_norm axes",
              [](const Tensor& a) { return matrix_norm(a, 1.0, {.rows = 2, .columns = 0, .dims = Dims::keep}); }),
          power_case(5),
          power_case(-3),
          one("matrix_exp", matrix_exp),
          two("kron", kron),
          two("kron axes", kron),
          one("trace", trace),
          two("cross", [](const Tensor& a, const Tensor& b) { return cross(a, b); }),
          two("cross axis", [](const Tensor& a, const Tensor& b) { return cross(a, b, 0); }),
          two("outer", outer)};
}

std::vector<LinalgCase> all_cases() {
  std::vector<LinalgCase> all = factorization_cases();
  for (const auto& more : {equation_cases(), number_cases()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

const Tensor* find_tensor(const std::string& name) {
  const auto& file = fixture_tensors("linalg");
  const auto found = file.find(name);
  return found == file.end() ? nullptr : &found->second;
}

/// Compares the outputs and the gradients of the sum of out * head; `tolerance` is for values near 1.
void expect_agrees_with_torch(const LinalgCase& call, const std::string& name, double tolerance) {
  SCOPED_TRACE(name);
  Tensors inputs;
  for (const char* key : {"/in.a", "/in.b"})
    if (const Tensor* x = find_tensor(name + key)) inputs.push_back(x->clone().requires_grad_());
  ASSERT_FALSE(inputs.empty());
  Tensor total = scalar(0, inputs[0].dtype());
  for (const auto& [key, y] : call.call(inputs[0], inputs.back())) {
    const Tensor *expected = find_tensor(name + "/out." + key), *head = find_tensor(name + "/head." + key);
    ASSERT_TRUE(expected && head) << key;
    EXPECT_TRUE(tensors_near(y, *expected, tolerance)) << key;
    total = total + sum(y * *head);
  }
  total.backward();
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(tensors_near(inputs[i].grad(), *find_tensor(name + "/grad.in." + (i ? "b" : "a")), tolerance))
        << "gradient of input " << i;
}

TEST(LinalgAsTorch, MatchesValuesAndGradientsInF64) {
  for (const LinalgCase& call : all_cases()) expect_agrees_with_torch(call, "f64 " + call.name, 1e-10);
}

TEST(LinalgAsTorch, MatchesValuesAndGradientsInF32) {
  for (const LinalgCase& call : all_cases()) expect_agrees_with_torch(call, "f32 " + call.name, 1e-3);
}

TEST(LinalgAsTorch, CoversTheWholeFixture) {
  std::set<std::string> names, known;
  for (const auto& [name, tensor] : fixture_tensors("linalg")) names.insert(name.substr(0, name.find('/')));
  for (const LinalgCase& call : all_cases())
    for (const char* dtype : {"f64 ", "f32 "}) known.insert(dtype + call.name);
  EXPECT_EQ(names, known);
}

}  // namespace
}  // namespace tape::linalg
