#include <cmath>

#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/ops/shape/join.h"
#include "autograd/tape/op.h"
#include "tests/samples/linalg/matrices.h"

namespace tape::linalg {
namespace {

std::vector<OpSample> cholesky_samples() {
  const auto of = [](const char* label, const Shape& a, bool upper = false) {
    return OpSample{label, {sample_normal(a)}, [upper](const Tensors& in) {
                      return cholesky(regular(product(in[0], in[0], {.transpose_b = true})), {.upper = upper});
                    }};
  };
  return std::vector{of("matrix", {3, 3}), of("batch, upper", {2, 2, 2}, true), of("size 1", {2, 1, 1}),
                     of("empty", {0, 0})};
}

const OpSamples samples_of_cholesky("cholesky", cholesky_samples);

/// Quantities that do not depend on signs.
Tensor qr_invariants(const Qr& both) { return cat({mixed(square(both.q), 1), mixed(square(both.r), -2)}); }

std::vector<OpSample> qr_samples() {
  const auto of = [](const char* label, const Shape& a, QrMode mode = QrMode::reduced) {
    return OpSample{label, {sample_normal(a)}, [mode](const Tensors& in) {
                      return qr_invariants(qr(regular_rectangle(in[0]), mode));
                    }};
  };
  return std::vector{of("square", {3, 3}),         of("tall", {4, 2}),
                     of("wide, batch", {2, 2, 4}), of("complete", {2, 3}, QrMode::complete),
                     of("size 1", {1, 1}),         of("empty", {3, 0})};
}

const OpSamples samples_of_qr("qr", qr_samples);

}  // namespace
}  // namespace tape::linalg
