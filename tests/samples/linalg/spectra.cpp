#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/samples/linalg/matrices.h"

namespace tape::linalg {
namespace {

std::vector<OpSample> eigh_samples() {
  // Squared eigenvectors, which do not depend on signs.
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) {
                      const Eigh both = eigh(regular_symmetric(in[0]));
                      return cat({mixed(both.eigenvalues, 1), mixed(square(both.eigenvectors), -2)});
                    }};
  };
  const auto function = [](const Tensors& in) {
    const Eigh both = eigh(regular_symmetric(in[0]));
    return product(both.eigenvectors * unsqueeze(tanh(both.eigenvalues * 0.2), -2), both.eigenvectors,
                   {.transpose_b = true});
  };
  return std::vector{of("matrix", {3, 3}), of("batch", {2, 2, 2}), of("size 1", {1, 1}), of("empty", {0, 0}),
                     OpSample{"matrix function", {sample_normal({3, 3})}, function}};
}

const OpSamples samples_of_eigh("eigh", eigh_samples);

std::vector<OpSample> eigvalsh_samples() {
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) { return eigvalsh(regular_symmetric(in[0])); }};
  };
  return std::vector{of("matrix", {3, 3}), of("batch", {2, 2, 2}), of("size 1", {1, 1}), of("empty", {2, 0, 0})};
}

const OpSamples samples_of_eigvalsh("eigvalsh", eigvalsh_samples);

/// Quantities that do not depend on signs: squares, and the orthogonal factor of the polar decomposition.
Tensor svd_invariants(const Svd& all) {
  const int64_t k = all.s.size(-1);
  const Tensor u = slice(all.u, -1, {.end = k}), vh = slice(all.vh, -2, {.end = k});
  return cat({mixed(square(u), 1), mixed(all.s, -1), mixed(square(vh), 2), mixed(product(u, vh), -2)});
}

std::vector<OpSample> svd_samples() {
  const auto of = [](const char* label, const Shape& a, bool full = false) {
    return OpSample{label, {sample_normal(a)}, [full](const Tensors& in) {
                      return svd_invariants(svd(regular_rectangle(in[0]), {.full_matrices = full}));
                    }};
  };
  return std::vector{of("square", {3, 3}),
                     of("tall", {4, 2}),
                     of("wide, batch", {2, 2, 3}),
                     of("full", {3, 2}, true),
                     of("size 1", {1, 1}),
                     of("empty", {2, 0}),
                     OpSample{"singular values of a row", {sample_normal({1, 3})}, [](const Tensors& in) {
                                return svd(regular_rectangle(in[0])).s;
                              }}};
}

const OpSamples samples_of_svd("svd", svd_samples);

std::vector<OpSample> svdvals_samples() {
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) { return svdvals(regular_rectangle(in[0])); }};
  };
  return std::vector{of("square", {3, 3}), of("tall", {3, 2}), of("wide, batch", {2, 2, 3}), of("empty", {0, 2})};
}

const OpSamples samples_of_svdvals("svdvals", svdvals_samples);

}  // namespace
}  // namespace tape::linalg
