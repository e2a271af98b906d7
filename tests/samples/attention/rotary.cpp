#include "autograd/ops/attention/rotary.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> samples() {
  const auto with = [](RotaryEmbeddingOptions options) {
    return [options](const Tensors& in) { return rotary_embedding(in[0], in[1], in[2], options); };
  };
  const auto operands = [](const Shape& x, const Shape& table) {
    // Not seed 1, which gradcheck uses for its weights of y: if they equal x, ds is zero.
    return Tensors{sample_normal(x, 11), sample_normal(table, 2), sample_normal(table, 3)};
  };
  return {{"halves", operands({2, 3, 8}, {3, 2}), with({.num_heads = 2})},
          {"interleaved", operands({2, 3, 8}, {3, 2}), with({.num_heads = 2, .interleaved = true})},
          {"some columns, tables per text", operands({2, 3, 5}, {2, 3, 1}), with({})},
          {"interleaved, some columns", operands({1, 2, 10}, {2, 2}), with({.num_heads = 2, .interleaved = true})},
          {"empty batch", operands({0, 2, 4}, {2, 2}), with({})}};
}

const OpSamples samples_of_rotary_embedding("rotary_embedding", samples);

}  // namespace
}  // namespace tape
