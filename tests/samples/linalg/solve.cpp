#include "autograd/ops/linalg.h"
#include "autograd/tape/op.h"
#include "tests/samples/linalg/matrices.h"

namespace tape::linalg {
namespace {

std::vector<OpSample> solve_samples() {
  const auto of = [](const char* label, const Shape& a, const Shape& b, SolveOptions options = {}) {
    return OpSample{label, {sample_normal(a, 1), sample_normal(b, 2)}, [options](const Tensors& in) {
                      return solve(regular(in[0]), in[1], options);
                    }};
  };
  return std::vector{of("matrix", {3, 3}, {3, 2}),
                     of("vector", {3, 3}, {3}),
                     of("batch", {2, 2, 2}, {2, 2, 3}),
                     of("batch of vectors", {2, 3, 3}, {2, 3}),
                     of("one matrix, batch of right-hand sides", {2, 2}, {3, 2, 1}),
                     of("batch of matrices, one right-hand side", {3, 2, 2}, {2, 2}),
                     of("right", {3, 3}, {2, 3}, {.left = false}),
                     of("size 1", {1, 1}, {1, 1}),
                     of("empty", {0, 0}, {0, 2}),
                     OpSample{"aliased", {sample_normal({3, 3})}, [](const Tensors& in) {
                                const Tensor a = regular(in[0]);
                                return solve(a, in[0]);
                              }}};
}

const OpSamples samples_of_solve("solve", solve_samples);

std::vector<OpSample> solve_triangular_samples() {
  const auto of = [](const char* label, const Shape& a, const Shape& b, TriangularOptions options) {
    return OpSample{label, {sample_normal(a, 1), sample_normal(b, 2)}, [options](const Tensors& in) {
                      return solve_triangular(regular(in[0]), in[1], options);
                    }};
  };
  return std::vector{of("lower", {3, 3}, {3, 2}, {}),
                     of("upper", {3, 3}, {3, 2}, {.upper = true}),
                     of("lower, right", {3, 3}, {2, 3}, {.left = false}),
                     of("upper, right, batch", {2, 3, 3}, {2, 2, 3}, {.upper = true, .left = false}),
                     of("ones on the diagonal", {3, 3}, {3, 1}, {.unitriangular = true}),
                     of("upper, ones", {2, 2}, {3, 2, 2}, {.upper = true, .unitriangular = true}),
                     of("empty", {0, 0}, {0, 2}, {})};
}

const OpSamples samples_of_solve_triangular("solve_triangular", solve_triangular_samples);

std::vector<OpSample> inv_samples() {
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) { return inv(regular(in[0])); }};
  };
  return std::vector{of("matrix", {3, 3}), of("batch", {2, 1, 2, 2}), of("size 1", {1, 1}), of("empty", {2, 0, 0})};
}

const OpSamples samples_of_inv("inv", inv_samples);

}  // namespace
}  // namespace tape::linalg
