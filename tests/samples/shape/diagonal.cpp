#include <cstdlib>

#include "autograd/ops/shape/diagonal.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> diagonal_samples() {
  auto of = [](int64_t offset, int64_t axis1, int64_t axis2) {
    return [=](const Tensors& in) { return diagonal(in[0], offset, axis1, axis2); };
  };
  return std::vector<OpSample>{{"wide", {sample_normal({2, 3})}, of(0, 0, 1)},
                               {"above", {sample_normal({3, 4})}, of(2, 0, 1)},
                               {"below, separate axes", {sample_normal({4, 2, 3})}, of(-1, 0, -1)},
                               {"swapped", {sample_normal({2, 3, 3})}, of(1, 2, 1)},
                               {"outside", {sample_normal({2, 2})}, of(5, 0, 1)}};
}

const OpSamples samples_of_diagonal("diagonal", diagonal_samples);

std::vector<OpSample> diag_embed_samples() {
  auto of = [](int64_t offset, int64_t axis1, int64_t axis2) {
    return [=](const Tensors& in) { return diag_embed(in[0], offset, axis1, axis2); };
  };
  return std::vector<OpSample>{{"vector", {sample_normal({3})}, of(0, -2, -1)},
                               {"batch, above", {sample_normal({2, 2})}, of(1, -2, -1)},
                               {"below, leading axes", {sample_normal({2, 3})}, of(-2, 0, 1)},
                               {"swapped", {sample_normal({2, 2})}, of(1, -1, 0)}};
}

const OpSamples samples_of_diag_embed("diag_embed", diag_embed_samples);

std::vector<OpSample> unfold_samples() {
  auto of = [](int64_t axis, int64_t size, int64_t step) {
    return [=](const Tensors& in) { return unfold(in[0], axis, size, step); };
  };
  return std::vector<OpSample>{{"overlapping", {sample_normal({5})}, of(0, 3, 1)},
                               {"middle", {sample_normal({2, 5, 2})}, of(1, 2, 2)},
                               {"gaps", {sample_normal({2, 7})}, of(-1, 2, 3)},
                               {"one window", {sample_normal({3, 2})}, of(0, 3, 1)}};
}

const OpSamples samples_of_unfold("unfold", unfold_samples);

}  // namespace
}  // namespace tape
