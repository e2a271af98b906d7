#include <cmath>
#include <cstring>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

std::vector<OpSample> matrix_norm_samples() {
  return std::vector<OpSample>{
      {"matrix", {sample_normal({2, 3})}, [](const Tensors& in) { return matrix_norm(in[0]); }},
      {"batch", {sample_normal({2, 2, 3})}, [](const Tensors& in) { return matrix_norm(in[0]); }},
      {"first axes",
       {sample_normal({2, 3, 2})},
       [](const Tensors& in) {
         return matrix_norm(in[0], MatrixNorm::fro, {.rows = 0, .columns = 1, .dims = Dims::keep});
       }},
      {"empty", {sample_normal({2, 0, 3})}, [](const Tensors& in) { return matrix_norm(in[0]); }}};
}

const OpSamples samples_of_matrix_norm("matrix_norm", matrix_norm_samples);

std::vector<OpSample> matrix_exp_samples() {
  const auto of = [](const char* label, const Shape& a, double scale) {
    return OpSample{label, {sample_normal(a)}, [scale](const Tensors& in) { return matrix_exp(in[0] * scale); }};
  };
  return std::vector{of("matrix", {3, 3}, 1),     of("small", {2, 2}, 1e-3), of("many squarings", {2, 2}, 4),
                     of("batch", {3, 2, 2}, 0.3), of("size 1", {1, 1}, 1),   of("empty", {0, 0}, 1)};
}

const OpSamples samples_of_matrix_exp("matrix_exp", matrix_exp_samples);

}  // namespace
}  // namespace tape::linalg
