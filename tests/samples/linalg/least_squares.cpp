#include "autograd/ops/linalg.h"
#include "autograd/ops/linalg/batch.h"
#include "autograd/tape/op.h"
#include "tests/samples/linalg/matrices.h"

namespace tape::linalg {
namespace {

std::vector<OpSample> pinv_samples() {
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) { return pinv(regular_rectangle(in[0])); }};
  };
  // Has rank 2 for any x.
  const auto deficient = [](const Tensors& in) {
    const Tensor x = regular_rectangle(in[0]);
    return pinv(product(x, x, {.transpose_b = true}), {.rtol = 1e-4});
  };
  const auto symmetric = [](const Tensors& in) {
    const Tensor x = regular_rectangle(in[0]);
    return pinv(product(x, x, {.transpose_b = true}), {.rtol = 1e-4, .hermitian = true});
  };
  return std::vector{of("tall", {3, 2}),
                     of("wide, batch", {2, 2, 3}),
                     of("square", {2, 2}),
                     of("empty", {0, 2}),
                     OpSample{"symmetric, full rank", {sample_normal({2, 2, 2})}, symmetric},
                     OpSample{"symmetric, rank-deficient", {sample_normal({3, 2})}, symmetric},
                     OpSample{"rank-deficient", {sample_normal({3, 2})}, deficient}};
}

const OpSamples samples_of_pinv("pinv", pinv_samples);

std::vector<OpSample> lstsq_samples() {
  const auto of = [](const char* label, const Shape& a, const Shape& b) {
    return OpSample{label, {sample_normal(a, 1), sample_normal(b, 2)}, [](const Tensors& in) {
                      return lstsq(regular_rectangle(in[0]), in[1]).solution;
                    }};
  };
  const auto residuals = [](const Tensors& in) { return lstsq(regular_rectangle(in[0]), in[1]).residuals; };
  return std::vector{of("tall", {4, 2}, {4, 2}),
                     of("wide", {2, 3}, {2, 1}),
                     of("batch of vectors", {2, 3, 2}, {2, 3}),
                     of("batch of right-hand sides", {3, 2}, {2, 3, 1}),
                     of("empty", {0, 2}, {0, 3}),
                     OpSample{"residuals", {sample_normal({4, 2}, 1), sample_normal({4, 2}, 2)}, residuals}};
}

const OpSamples samples_of_lstsq("lstsq", lstsq_samples);

}  // namespace
}  // namespace tape::linalg
