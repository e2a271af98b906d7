// matrix_norm, matrix_power, matrix_exp.
#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

const Op matrix_norm_op({.name = "matrix_norm",
                         .formula = {.forward = "y{y} = √Σ aᵢⱼ² of a{0}",
                                     .backward = {"da{x} = dy ⊙ a / y, 0 where y is 0"}},
                         .traits = {.has_kinks = true}});

/// Najfeld and Havel 1995 (Derivatives of the matrix exponential), 4.3; Mathias 1996: the derivative in direction G is
/// the upper right block of exp [[A, G], [0, A]]. The gradient is this block for direction Ȳ at Aᵀ.
const Op matrix_exp_op({.name = "matrix_exp",
                        .formula = {.forward = "y{y} = exp a = Σ aᵏ / k!",
                                    .backward = {"da{x} = the upper right block of exp [[aᵀ, dy], [0, aᵀ]]"}}});

/// Padé approximants of exp and the largest 1-norm for which each is accurate to rounding: Higham 2005 (The scaling and
/// squaring method for the matrix exponential revisited), tables 2.3 and 3.1.
struct Pade {
  double bound;
  std::vector<double> b;  ///< coefficients from b0 on
};
const std::vector<Pade>& pades(DType dtype) {
  using Row = std::vector<double>;
  static const Row &b3 = *new Row{120, 60, 12, 1}, &b5 = *new Row{30240, 15120, 3360, 420, 30, 1},
                   &b7 = *new Row{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1},
                   &b9 =
                       *new Row{17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1},
                   &b13 = *new Row{64764752532480000,
                                   32382376266240000,
                                   7771770303897600,
                                   1187353796428800,
                                   129060195264000,
                                   10559470521600,
                                   670442572800,
                                   33522128640,
                                   1323241920,
                                   40840800,
                                   960960,
                                   16380,
                                   182,
                                   1};
  static const auto& single =
      *new const std::vector<Pade>{{4.258730016922831e-1, b3}, {1.880152677804762, b5}, {3.925724783138660, b7}};
  static const auto& twice = *new const std::vector<Pade>{{1.495585217958292e-2, b3},
                                                          {2.539398330063230e-1, b5},
                                                          {9.504178996162932e-1, b7},
                                                          {2.097847961257068, b9},
                                                          {5.371920351148152, b13}};
  return dtype == f32 ? single : twice;
}

/// Σ b[first + 2 i] a²ⁱ / b₀ over i = 1, ..., given the powers a², a⁴, ...
Tensor every_other(const std::vector<double>& b, size_t first, const Tensors& even) {
  Tensor total = even[0] * (b[first + 2] / b[0]);
  for (size_t i = 1; i < even.size(); ++i) total += even[i] * (b[first + 2 + 2 * i] / b[0]);
  return total;
}

/// x += c I for matrices [count, n, n].
void add_to_diagonal(Tensor& x, double c) {
  const int64_t n = x.size(-1);
  on_host("matrix_exp", x, [&]<class T>(const KernelCall& at, T) {
    T* values = at.out<T>(x);
    for (int64_t i = 0; i < x.numel() / n; ++i) values[i * n + i % n] += static_cast<T>(c);
  });
}

/// exp of matrices [count, n, n] with one approximant, scaled by 2^-squarings and squared back.
Tensor exp_by(const Pade& pade, int squarings, const Tensor& a) {
  const std::vector<double>& b = pade.b;
  const size_t degree = b.size() - 1, half = degree / 2;  // half: powers in each of the odd and even parts
  const Tensor x = squarings == 0 ? a : a * std::ldexp(1.0, -squarings);
  Tensors even{product(x, x)};
  while (even.size() < half && (even.size() < 3 || degree == 9)) even.push_back(product(even.back(), even[0]));
  Tensor odd_part = every_other(b, 1, even), even_part = every_other(b, 0, even);
  if (half > even.size()) {  // a⁸, a¹⁰ and a¹² as products with a⁶
    odd_part += product(even[2], every_other(b, 7, even));
    even_part += product(even[2], every_other(b, 6, even));
  }
  add_to_diagonal(odd_part, b[1] / b[0]);
  add_to_diagonal(even_part, 1);
  const Tensor u = product(x, odd_part);
  Tensor y = solve(even_part - u, even_part + u);
  for (int i = 0; i < squarings; ++i) y = product(y, y);
  return y;
}

/// Approximant and number of squarings for each matrix, independent of the rest of the batch.
std::map<std::pair<size_t, int>, std::vector<int64_t>> plan_exp(const Tensor& a) {
  const auto& choices = pades(a.dtype());
  std::map<std::pair<size_t, int>, std::vector<int64_t>> plan;
  const std::vector<double> norms = matrix_norm(a, 1.0).to(f64).to_vector<double>();
  for (size_t i = 0; i < norms.size(); ++i) {
    const double norm = norms[i];
    size_t choice = 0;
    while (choice + 1 < choices.size() && norm > choices[choice].bound) ++choice;
    const double ratio = norm / choices[choice].bound;
    plan[{choice, ratio > 1 ? static_cast<int>(std::ceil(std::log2(ratio))) : 0}].push_back(static_cast<int64_t>(i));
  }
  return plan;
}

Tensor exp_values(const Tensor& x) {
  const Matrices all = square_matrices("matrix_exp", "a", x);
  check_finite("matrix_exp", "a", x);
  if (x.numel() == 0) return empty_like(x);
  const Tensor a = reshape(x.detach(), Shape{all.count, all.rows, all.columns});
  const auto plan = plan_exp(a);
  if (plan.size() == 1) {
    const auto [choice, squarings] = plan.begin()->first;
    return reshape(exp_by(pades(x.dtype())[choice], squarings, a), x.shape());
  }
  Tensor y = empty_like(a);
  for (const auto& [key, members] : plan) {
    const Tensor places = from_vector(members).to(a.device());
    y = index_copy(y, 0, places, exp_by(pades(x.dtype())[key.first], key.second, index_select(a, 0, places)));
  }
  return reshape(y, x.shape());
}

/// norm(matrices) along the axes in the options.
template <class Norm>
Tensor norm_along(const Tensor& a, const MatrixNormOptions& options, const Norm& norm) {
  matrices("matrix_norm", "a", a);
  const int64_t rows = a.shape().axis(options.rows, "matrix_norm"),
                columns = a.shape().axis(options.columns, "matrix_norm");
  if (rows == columns) raise(ErrorKind::config, "matrix_norm: rows and columns are both axis {}", rows);
  Tensor y = norm(movedim(a, {rows, columns}, {-2, -1}));
  if (options.dims == Dims::drop) return y;
  return unsqueeze(unsqueeze(y, std::min(rows, columns)), std::max(rows, columns));
}

Tensor frobenius(const Tensor& x) {
  const Tensor y = sqrt(sum(square(x.detach()), {-2, -1}));
  return record(matrix_norm_op, {x}, y, {x, y}, [](const BackwardContext& c) -> Tensors {
    const Tensor norm = c.saved(1);
    return {c.saved(0) * per_matrix(c.grad() / masked_fill(norm, eq(norm.detach(), 0), 1))};
  });
}

}  // namespace

Tensor matrix_norm(const Tensor& a, MatrixNorm order, const MatrixNormOptions& options) {
  return norm_along(a, options,
                    [order](const Tensor& x) { return order == MatrixNorm::fro ? frobenius(x) : sum(svdvals(x), -1); });
}

Tensor matrix_norm(const Tensor& a, double order, const MatrixNormOptions& options) {
  const double size = std::abs(order);
  if (size != 1 && size != 2 && size != INFINITY)
    raise(ErrorKind::config, "matrix_norm: the order must be 1, 2, inf, -1, -2 or -inf, got {}", order);
  return norm_along(a, options, [=](const Tensor& x) {
    const Tensor sizes = size == 2 ? svdvals(x) : sum(abs(x), size == 1 ? -2 : -1);
    if (sizes.size(-1) == 0)
      raise(ErrorKind::shape, "matrix_norm: order {} needs non-empty matrices: a {}", order, to_string(a.shape()));
    return order > 0 ? max(sizes, -1) : min(sizes, -1);
  });
}

Tensor matrix_power(const Tensor& a, int64_t n) {
  square_matrices("matrix_power", "a", a);
  if (n == 0) return clone(expand_to(eye(a.size(-1), a.options()), a.shape()));
  uint64_t left = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  Tensor square_of = n < 0 ? inv(a) : clone(a), y;
  for (;; square_of = product(square_of, square_of)) {
    if (left & 1) y = y.defined() ? product(y, square_of) : square_of;
    left >>= 1;
    if (left == 0) return y;
  }
}

Tensor matrix_exp(const Tensor& a) {
  const Tensor y = exp_values(a);
  on_host("matrix_exp", y, [&]<class T>(const KernelCall& at, T) {
    const auto* values = at.in<T>(y);
    for (int64_t i = 0; i < y.numel(); ++i)
      if (!std::isfinite(values[i]))
        raise(ErrorKind::numeric, "matrix_exp: {} overflows",
              matrix_name("a", a.shape(), i / (y.size(-1) * y.size(-2))));
  });
  return record(matrix_exp_op, {a}, y, {a}, [](const BackwardContext& c) -> Tensors {
    const Tensor at = transposed(c.saved(0)), dy = c.grad();
    if (dy.numel() == 0) return {dy};
    // The block is linear in dy, so dy is scaled to norm 1 and needs no extra squarings.
    const double largest = max(matrix_norm(dy.detach(), 1.0)).item(), size = largest > 0 ? largest : 1;
    const Tensor above = cat({at, dy * (1 / size)}, -1), below = cat({zeros_like(at), at}, -1);
    const Tensor whole = matrix_exp(cat({above, below}, -2));
    const int64_t n = at.size(-1);
    return {slice(slice(whole, -2, {.end = n}), -1, {.start = n}) * size};
  });
}

}  // namespace tape::linalg
