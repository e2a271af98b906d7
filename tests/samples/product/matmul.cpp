#include "autograd/ops/product/matmul.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

OpSample product(const char* label, const Shape& a, const Shape& b, MatmulOptions options = {}) {
  return {label, {sample_normal(a, 1), sample_normal(b, 2)}, [options](const Tensors& in) {
            return matmul(in[0], in[1], options);
          }};
}

std::vector<OpSample> matmul_samples() {
  return std::vector{
      product("matrices", {2, 3}, {3, 4}),
      product("batch", {2, 2, 3}, {2, 3, 2}),
      product("batch broadcast", {2, 1, 2, 3}, {3, 3, 2}),
      product("shared right", {2, 3, 4}, {4, 2}),
      product("shared left", {2, 3}, {2, 3, 2}),
      product("transposed left", {3, 2}, {3, 4}, {.transpose_a = true}),
      product("transposed right", {2, 2, 3}, {4, 3}, {.transpose_b = true}),
      product("both transposed", {2, 3, 2}, {2, 4, 3}, {.transpose_a = true, .transpose_b = true}),
      product("vectors", {3}, {3}),
      product("row", {3}, {2, 3, 2}),
      product("column", {2, 2, 3}, {3}),
      product("empty inner", {2, 0}, {0, 3}),
      OpSample{"aliased", {sample_normal({3, 3})}, [](const Tensors& in) { return matmul(in[0], in[0]); }}};
}

const OpSamples samples_of_matmul("matmul", matmul_samples);

std::vector<OpSample> linear_samples() {
  auto call = [](const Tensors& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); };
  return std::vector<OpSample>{
      {"with bias", {sample_normal({2, 3, 4}, 1), sample_normal({5, 4}, 2), sample_normal({5}, 3)}, call},
      {"without bias", {sample_normal({3, 4}, 1), sample_normal({2, 4}, 2)}, call},
      {"one row", {sample_normal({4}, 1), sample_normal({2, 4}, 2), sample_normal({2}, 3)}, call},
      {"no rows", {sample_normal({0, 4}, 1), sample_normal({2, 4}, 2), sample_normal({2}, 3)}, call}};
}

const OpSamples samples_of_linear("linear", linear_samples);

}  // namespace
}  // namespace tape
