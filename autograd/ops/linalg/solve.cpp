// solve, solve_triangular, inv.
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/linalg/lapack.h"
#include "autograd/ops/linalg/lu.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

/// Giles 2008 (Collected matrix derivative results), 2.3.1: A X = B gives dA X + A dX = dB, so dX = A⁻¹ (dB − dA X);
/// the gradients are B̄ = A⁻ᵀ X̄ and Ā = −B̄ Xᵀ.
const Op solve_op({.name = "solve",
                   .formula = {.forward = "y{y} = a⁻¹{0} · b{1}",
                               .backward = {"da{x} = −db · yᵀ", "db{x} = a⁻ᵀ · dy"},
                               .summed = Summed::batch}});

/// As solve. Ā only has the triangle that is read, without the diagonal if it is not read.
const Op solve_triangular_op(
    {.name = "solve_triangular",
     .formula = {.forward = "y{y} = <left:a⁻¹{0} · b{1}|b{1} · a⁻¹{0}>, a <upper:upper|lower> triangular",
                 .backward = {"da{x} = the <upper:upper|lower> triangle of <left:−db · yᵀ|−yᵀ · db>",
                              "db{x} = <left:a⁻ᵀ · dy|dy · a⁻ᵀ>"},
                 .summed = Summed::batch}});

/// Giles 2008, 2.2.3: A Y = I gives dY = −Y dA Y, so Ā = −Yᵀ Ȳ Yᵀ.
const Op inv_op({.name = "inv", .formula = {.forward = "y{y} = a⁻¹", .backward = {"da{x} = −yᵀ · dy · yᵀ"}}});

/// solve() for b with at least two axes.
Tensor solve_matrices(const Tensor& a, const Tensor& b) {
  check_finite("solve", "a", a);
  const Lu lu = lu_of(a);
  check_regular("solve", lu);
  const Tensor x = lu_solve(lu, b, false);
  return record(solve_op, {a, b}, x, {a, x, lu.factors, lu.pivots}, [](const BackwardContext& c) -> Tensors {
    const Tensor db = c.create_graph() ? solve_matrices(transposed(c.saved(0)), c.grad())
                                       : lu_solve({c.saved(2), c.saved(3), {}}, c.grad(), true);
    Tensor da;
    if (c.needs(0)) da = neg(product(db, c.saved(1), {.transpose_b = true}));
    return {da, db};
  });
}

/// A row-major a is aᵀ to LAPACK. Right-hand sides are columns of b for a x = b, and rows for x a = b (aᵀ xᵀ = bᵀ).
Tensor triangular_values(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  const Matrices own = square_matrices("solve_triangular", "a", a), sides = matrices("solve_triangular", "b", b);
  const int64_t n = own.rows, k = options.left ? sides.columns : sides.rows;
  const Shape whole = broadcast_shapes("solve_triangular", own.batch, sides.batch);
  const NoGrad no_grad;
  Tensor x = expand_to(b.detach(), Matrices{.batch = whole}.of(sides.rows, sides.columns));
  if (x.numel() == 0) return x;
  if (options.left) x = detached_transpose(x);
  const std::vector<int64_t> from = broadcast_matrices(own.batch, whole);
  const LapackFailure failure = on_host("solve_triangular", a, [&]<class T>(const KernelCall& at, T) {
    const T* triangles = at.in<T>(a);
    T* values = at.out<T>(x);
    return for_each_matrix(whole.numel(), static_cast<double>(n * n) * static_cast<double>(k), [&](int64_t i) {
      return trtrs(!options.upper, options.left, options.unitriangular, n, k,
                   triangles + from[static_cast<size_t>(i)] * n * n, values + i * n * k);
    });
  });
  if (failure.matrix >= 0)
    raise(ErrorKind::numeric, "solve_triangular: {} is singular: [{}, {}] is 0",
          matrix_name("a", a.shape(), from[static_cast<size_t>(failure.matrix)]), failure.info - 1, failure.info - 1);
  return options.left ? transpose(x) : x;
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, const SolveOptions& options) {
  check_same_dtype("solve", a, b);
  const Matrices own = square_matrices("solve", "a", a);
  if (is_vector_of(a, b)) {
    if (!options.left)
      raise(ErrorKind::shape, "solve: b must be matrices for left = false: a {} and b {}", to_string(a.shape()),
            to_string(b.shape()));
    check_rhs("solve", a, b, own.columns, b.size(-1));
    return squeeze(solve_matrices(a, unsqueeze(b, -1)), -1);
  }
  const Matrices sides = matrices("solve", "b", b);
  check_rhs("solve", a, b, own.columns, options.left ? sides.rows : sides.columns);
  if (!options.left) return transposed(solve_matrices(transposed(a), transposed(b)));
  return solve_matrices(a, b);
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  check_same_dtype("solve_triangular", a, b);
  const Matrices own = square_matrices("solve_triangular", "a", a), sides = matrices("solve_triangular", "b", b);
  check_rhs("solve_triangular", a, b, own.columns, options.left ? sides.rows : sides.columns);
  check_finite("solve_triangular", "a", a, options.upper ? Part::upper : Part::lower);
  const Tensor x = triangular_values(a, b, options);
  return record(solve_triangular_op, {a, b}, x, {a, x},
                [options](const BackwardContext& c) -> Tensors {
                  const bool upper = options.upper;
                  const Tensor db =
                      solve_triangular(transposed(c.saved(0)), c.grad(),
                                       {.upper = !upper, .left = options.left, .unitriangular = options.unitriangular});
                  Tensor da;
                  if (c.needs(0)) {
                    const Tensor whole = neg(options.left ? product(db, c.saved(1), {.transpose_b = true})
                                                          : product(c.saved(1), db, {.transpose_a = true}));
                    const int64_t beside = options.unitriangular ? 1 : 0;
                    da = upper ? triu(whole, beside) : tril(whole, -beside);
                  }
                  return {da, db};
                },
                {{"upper", options.upper}, {"left", options.left}, {"unitriangular", options.unitriangular}});
}

Tensor inv(const Tensor& a) {
  square_matrices("inv", "a", a);
  check_finite("inv", "a", a);
  const Lu lu = lu_of(a);
  check_regular("inv", lu);
  const Tensor y = lu_inverse(lu);
  return record(inv_op, {a}, y, {y}, [](const BackwardContext& c) -> Tensors {
    const Tensor inverse = c.saved(0);
    return {neg(product(product(inverse, c.grad(), {.transpose_a = true}), inverse, {.transpose_b = true}))};
  });
}

}  // namespace tape::linalg
