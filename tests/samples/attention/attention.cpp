#include "autograd/ops/attention/attention.h"
#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> attention_samples() {
  const auto operands = [](const Shape& lead, int64_t Tq, int64_t Tk, int64_t D, int64_t Dv) {
    const auto shape = [&](int64_t length, int64_t width) {
      return lead.inserted(lead.rank(), length).inserted(lead.rank() + 1, width);
    };
    return Tensors{sample_normal(shape(Tq, D), 1), sample_normal(shape(Tk, D), 2), sample_normal(shape(Tk, Dv), 3)};
  };
  const auto grouped_operands = [](int64_t heads, int64_t of_keys) {
    return Tensors{sample_normal({2, heads, 3, 2}, 1), sample_normal({2, of_keys, 4, 2}, 2),
                   sample_normal({2, of_keys, 4, 3}, 3)};
  };
  const auto with = [](AttentionOptions options) {
    return [options](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2], options); };
  };
  const Tensor ids = tensor({{5, 6, 0, 0}, {0, 0, 0, 0}}, i64);
  std::vector<OpSample> all{
      {"plain", operands({2, 2}, 3, 4, 2, 3), with({})},
      {"one matrix", operands({}, 3, 4, 2, 2), with({.scale = 0.3})},
      {"causal", operands({2}, 4, 4, 3, 2), with({.mask = Mask::causal()})},
      {"causal after a cache", operands({2, 1}, 2, 4, 3, 2), with({.mask = Mask::causal(2)})},
      {"padding, one row sees nothing", operands({2, 2}, 3, 4, 2, 2), with({.mask = Mask::padding(ids, 0)})},
      {"dropout", operands({1, 2}, 3, 4, 2, 2), [](const Tensors& in) {
         generator(Stream::dropout).set_state(5, 11);
         return scaled_dot_product_attention(in[0], in[1], in[2], {.dropout = 0.3});
       }}};
  Tensors biased = operands({2, 2}, 3, 4, 2, 2);
  biased.push_back(sample_normal({2, 1, 4}, 4));
  all.push_back({"additive", biased, [](const Tensors& in) {
                   const Mask mask = Mask::additive(in[3]) & Mask::causal(1);
                   return scaled_dot_product_attention(in[0], in[1], in[2], {.mask = mask});
                 }});
  all.push_back({"weights", operands({2, 2}, 3, 4, 2, 2), [](const Tensors& in) {
                   const auto both = scaled_dot_product_attention_with_weights(in[0], in[1], in[2]);
                   return matmul(both.weights, in[2]) * both.output;
                 }});
  all.push_back({"packed heads", operands({2}, 3, 4, 4, 6), [ids](const Tensors& in) {
                   return multi_head_attention(in[0], in[1], in[2], 2, {.mask = Mask::padding(ids, 0)});
                 }});
  all.push_back({"spare cache capacity", operands({2}, 3, 5, 4, 4), [](const Tensors& in) {
                   return multi_head_attention(in[0], {in[1], in[2], 4}, 2, {.mask = Mask::causal(1)});
                 }});
  all.push_back({"window", operands({1, 2}, 5, 5, 2, 3), with({.mask = Mask::window(1, 1)})});
  all.push_back(
      {"window after a cache, one row sees nothing", operands({2}, 3, 6, 2, 2), with({.mask = Mask::window(1, 0, 5)})});
  all.push_back({"grouped queries", grouped_operands(4, 2), with({.enable_gqa = true})});
  all.push_back({"one key head, causal window", grouped_operands(2, 1), [](const Tensors& in) {
                   generator(Stream::dropout).set_state(5, 11);
                   const Mask mask = Mask::window(2, 0, 1) & Mask::causal(1);
                   return scaled_dot_product_attention(in[0], in[1], in[2],
                                                       {.mask = mask, .dropout = 0.3, .enable_gqa = true});
                 }});
  all.push_back({"grouped queries, packed",
                 {sample_normal({2, 3, 8}, 1), sample_normal({2, 4, 4}, 2), sample_normal({2, 4, 6}, 3)},
                 [](const Tensors& in) {
                   const auto both = multi_head_attention_with_weights(
                       in[0], in[1], in[2], 4, {.mask = Mask::window(1, 2), .enable_gqa = true});
                   return cat({reshape(both.output, {-1}), reshape(both.weights, {-1})}, 0);
                 }});
  return all;
}

const OpSamples samples_of_attention("scaled_dot_product_attention", attention_samples);

}  // namespace
}  // namespace tape
