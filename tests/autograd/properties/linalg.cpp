// Factorizations and linear systems: textbook loops in long double (matrix.h), on well-conditioned matrices.

#include "autograd/ops/linalg.h"

#include <algorithm>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/shape.h"
#include "tests/autograd/properties/random_matrices.h"

namespace tape::properties {
namespace {

Tensor doubled(const Tensor& x) { return x + transpose(x); }

Case draw_cholesky(Draw& draw) {
  const RandomMatrices from(draw, true);
  const bool upper = draw.chance(0.3);
  return from.case_of(from.each(from.a.shape(),
                                [&](int64_t i) {
                                  const Matrix l = lower_factor(from.symmetric(i));
                                  return (upper ? transposed(l) : l).values;
                                }),
                      [upper](const Tensors& in) { return linalg::cholesky(doubled(in[0]), {.upper = upper}); });
}

Case draw_qr(Draw& draw) {
  const RandomMatrices from(draw, false, 1);
  const int64_t k = std::min(from.rows, from.columns);
  const bool which = draw.chance(0.5);
  const Shape shape = which ? with_matrix(from.batch, from.rows, k) : with_matrix(from.batch, k, from.columns);
  return from.case_of(from.each(shape,
                                [&](int64_t i) {
                                  const auto [q, r] = gram_schmidt(from.matrix(i));
                                  return squares(which ? q : r);
                                }),
                      [which](const Tensors& in) {
                        const linalg::Qr both = linalg::qr(in[0]);
                        return square(which ? both.q : both.r);
                      });
}

Case draw_eigh(Draw& draw) {
  const RandomMatrices from(draw, true);
  return from.case_of(from.each(from.a.shape(), [&](int64_t i) { return squares(jacobi(from.symmetric(i)).second); }),
                      [](const Tensors& in) { return square(linalg::eigh(doubled(in[0])).eigenvectors); });
}

Case draw_eigvalsh(Draw& draw) {
  const RandomMatrices from(draw, true);
  return from.case_of(from.each(from.batch.inserted(from.batch.rank(), from.rows),
                                [&](int64_t i) { return jacobi(from.symmetric(i)).first; }),
                      [](const Tensors& in) { return linalg::eigvalsh(doubled(in[0])); });
}

/// The rows of Vh as eigenvectors of aᵀ a, and the orthogonal factor a (aᵀ a)^-1/2 of the polar decomposition.
Case draw_svd(Draw& draw) {
  const RandomMatrices from(draw, true);
  const bool polar = draw.chance(0.5), full = draw.chance(0.5);
  const auto expected = [&](int64_t i) {
    const Matrix a = from.matrix(i);
    const auto [values, vectors] = jacobi(times(transposed(a), a));
    Matrix scaled = transposed(vectors), reversed = scaled;
    for (int64_t k = 0; k < a.rows; ++k)
      for (int64_t j = 0; j < a.rows; ++j) {
        scaled(k, j) /= std::sqrt(values[static_cast<size_t>(k)]);
        reversed(k, j) = vectors(j, a.rows - 1 - k);
      }
    return polar ? times(a, times(vectors, scaled)).values : squares(reversed);
  };
  return from.case_of(from.each(from.a.shape(), expected), [=](const Tensors& in) {
    const linalg::Svd all = linalg::svd(in[0], {.full_matrices = full});
    return polar ? matmul(all.u, all.vh) : square(all.vh);
  });
}

Case draw_svdvals(Draw& draw) {
  const RandomMatrices from(draw, false);
  const int64_t k = std::min(from.rows, from.columns);
  return from.case_of(
      from.each(from.batch.inserted(from.batch.rank(), k),
                [&](int64_t i) {
                  const Matrix a = from.matrix(i);
                  std::vector<long double> values =
                      jacobi(times(transposed(a), a)).first;  // surplus eigenvalues come first and are 0
                  std::reverse(values.begin(), values.end());
                  values.resize(static_cast<size_t>(k));
                  for (long double& value : values) value = std::sqrt(value);
                  return values;
                }),
      [](const Tensors& in) { return linalg::svdvals(in[0]); });
}

/// a⁻¹ b, or b a⁻¹, with one right side per matrix or one shared by all; `solver` determines the method.
template <class Solver, class Part>
Case draw_equations(Draw& draw, bool left, const Solver& solver, const Part& part) {
  const RandomMatrices from(draw, true);
  const int64_t k = draw.size();
  const Shape sides = left ? Shape{from.rows, k} : Shape{k, from.rows};
  // With a's shape without the last axis, it would be a batch of vectors.
  const bool shared = draw.chance(0.3) && !(sides == from.a.shape().slice(0, from.a.rank() - 1));
  const Tensor b = draw.values(shared ? sides : with_matrix(from.batch, sides[0], sides[1]), from.dtype);
  const Array exact_b = exact(b);
  const Array expected = from.each(with_matrix(from.batch, sides[0], sides[1]), [&](int64_t i) {
    Matrix a = from.matrix(i);
    part(a);
    const Matrix inverse = inverse_and_determinant(a).first;
    const Matrix right = RandomMatrices::matrix_of(exact_b, sides[0], sides[1], shared ? 0 : i);
    return (left ? times(inverse, right) : times(right, inverse)).values;
  });
  return from.case_of(expected, solver, {b});
}

Case draw_solve(Draw& draw) {
  const bool left = draw.chance(0.6);
  return draw_equations(
      draw, left, [left](const Tensors& in) { return linalg::solve(in[0], in[1], {.left = left}); }, [](Matrix&) {});
}

Case draw_solve_triangular(Draw& draw) {
  const linalg::TriangularOptions options{
      .upper = draw.chance(0.5), .left = draw.chance(0.5), .unitriangular = draw.chance(0.3)};
  return draw_equations(
      draw, options.left, [options](const Tensors& in) { return linalg::solve_triangular(in[0], in[1], options); },
      [options](Matrix& a) {
        for (int64_t i = 0; i < a.rows; ++i)
          for (int64_t j = 0; j < a.columns; ++j) {
            if (options.upper ? j < i : j > i) a(i, j) = 0;
            if (options.unitriangular && i == j) a(i, j) = 1;
          }
      });
}

Case draw_inv(Draw& draw) {
  const RandomMatrices from(draw, true);
  return from.case_of(
      from.each(from.a.shape(), [&](int64_t i) { return inverse_and_determinant(from.matrix(i)).first.values; }),
      [](const Tensors& in) { return linalg::inv(in[0]); });
}

Case draw_pinv(Draw& draw) {
  const RandomMatrices from(draw, false);
  return from.case_of(from.each(with_matrix(from.batch, from.columns, from.rows),
                                [&](int64_t i) { return pseudoinverse(from.matrix(i)).values; }),
                      [](const Tensors& in) { return linalg::pinv(in[0]); });
}

Case draw_lstsq(Draw& draw) {
  const RandomMatrices from(draw, false);
  const int64_t k = draw.size();
  const Tensor b = draw.values(with_matrix(from.batch, from.rows, k), from.dtype);
  const Array exact_b = exact(b);
  return from.case_of(
      from.each(
          with_matrix(from.batch, from.columns, k),
          [&](int64_t i) {
            return times(pseudoinverse(from.matrix(i)), RandomMatrices::matrix_of(exact_b, from.rows, k, i)).values;
          }),
      [](const Tensors& in) { return linalg::lstsq(in[0], in[1]).solution; }, {b});
}

}  // namespace

void add_factorizations(std::vector<Property>& all) {
  all.insert(all.end(), {{"cholesky", "cholesky", draw_cholesky},
                         {"qr", "qr", draw_qr},
                         {"eigh", "eigh", draw_eigh},
                         {"eigvalsh", "eigvalsh", draw_eigvalsh},
                         {"svd", "svd", draw_svd},
                         {"svdvals", "svdvals", draw_svdvals},
                         {"solve", "solve", draw_solve},
                         {"solve_triangular", "solve_triangular", draw_solve_triangular},
                         {"inv", "inv", draw_inv},
                         {"pinv", "pinv", draw_pinv},
                         {"lstsq", "lstsq", draw_lstsq}});
}

}  // namespace tape::properties
