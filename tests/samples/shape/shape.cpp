#include <cstring>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

template <class F>
OpSample sample(const char* label, const Shape& shape, F f) {
  return {label, {sample_normal(shape)}, [f](const Tensors& in) { return f(in[0]); }};
}

std::vector<OpSample> clone_samples() {
  return std::vector{sample("matrix", {2, 3}, [](auto& x) { return clone(x); }),
                     sample("rank 0", {}, [](auto& x) { return clone(x); })};
}

const OpSamples samples_of_clone("clone", clone_samples);

const OpSamples samples_of_alias("alias", [] {
  return std::vector{sample("matrix", {2, 3}, [](auto& x) { return alias(x); })};
});

std::vector<OpSample> reshape_samples() {
  return std::vector{sample("merge", {2, 3, 2},
                            [](auto& x) {
                              return reshape(x, {-1, 2});
                            }),
                     sample("from rank 0", {},
                            [](auto& x) {
                              return reshape(x, {1, 1});
                            }),
                     sample("empty", {0, 3}, [](auto& x) {
                       return reshape(x, {3, 0});
                     })};
}

const OpSamples samples_of_reshape("reshape", reshape_samples);

std::vector<OpSample> expand_samples() {
  return std::vector{sample("inner", {2, 1},
                            [](auto& x) {
                              return expand(x, {3, 2, 4});
                            }),
                     sample("rank 0", {}, [](auto& x) {
                       return expand(x, {2, 2});
                     })};
}

const OpSamples samples_of_expand("expand", expand_samples);

std::vector<OpSample> sum_to_samples() {
  return std::vector{sample("both", {3, 2, 4},
                            [](auto& x) {
                              return sum_to(x, {2, 1});
                            }),
                     sample("rank 0", {2, 2}, [](auto& x) { return sum_to(x, {}); })};
}

const OpSamples samples_of_sum_to("sum_to", sum_to_samples);

std::vector<OpSample> permute_samples() {
  return std::vector{sample("rank 3", {2, 3, 4},
                            [](auto& x) {
                              return permute(x, {2, 0, 1});
                            }),
                     sample("heads", {2, 3, 2, 2},
                            [](auto& x) {
                              return permute(x, {0, 2, 1, 3});
                            }),
                     sample("movedim", {2, 3, 2, 2},
                            [](auto& x) {
                              return movedim(x, {0, -1}, {2, 0});
                            }),
                     sample("transpose", {2, 3}, [](auto& x) { return transpose(x); }),
                     sample("empty", {2, 0}, [](auto& x) { return transpose(x); })};
}

const OpSamples samples_of_permute("permute", permute_samples);

std::vector<OpSample> slice_samples() {
  return std::vector{sample("rows, a view", {5, 2}, [](auto& x) { return slice(x, 0, {.start = 1, .end = 4}); }),
                     sample("columns", {3, 5}, [](auto& x) { return slice(x, 1, {.start = 1, .end = -1}); }),
                     sample("steps", {2, 7}, [](auto& x) { return slice(x, -1, {.start = 1, .step = 2}); }),
                     sample("select", {3, 4, 2}, [](auto& x) { return select(x, 1, -2); }),
                     sample("empty result", {3, 4}, [](auto& x) { return slice(x, 1, {.start = 2, .end = 2}); })};
}

const OpSamples samples_of_slice("slice", slice_samples);

std::vector<OpSample> unslice_samples() {
  return std::vector{OpSample{"gradient of a square of a slice", {sample_normal({3, 5})}, [](const Tensors& in) {
                                const EnableGrad recording;
                                const Tensor x = in[0].requires_grad() ? in[0] : in[0].detach().requires_grad_();
                                const Tensor loss = sum(slice(x, 1, {.start = 1, .end = 4, .step = 2}));
                                return grad({loss * loss}, {x}, {.create_graph = true})[0];
                              }}};
}

const OpSamples samples_of_unslice("unslice", unslice_samples);

}  // namespace
}  // namespace tape
