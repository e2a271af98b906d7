// Packed attention computes the same as separate heads. Its masks have a type, Mask, built from the positions to keep
// or from values to add to the scores.
#include "packed.h"

#include "demonstrate.h"

using namespace tape;

int main() {
  manual_seed(1);
  SeparateHeads separate(8, 2);
  nn::MultiHeadAttention packed(8, 2);
  pack(separate, packed);
  separate.to(f64), packed.to(f64);
  std::cout << packed << "\n\n";

  const Tensor queries = randn({2, 3, 8}, f64), memory = randn({2, 4, 8}, f64);
  const std::vector<Mask> masks{{},
                                Mask::keep(logical_not(future(3, 4))),
                                Mask::additive(where(future(3, 4), scalar(-1e20, f64), scalar(0, f64))),
                                Mask::additive(causal_bias(3, 4).to(f64))};
  const auto ways = masking_variants(3, 4);
  bool right = true;
  for (size_t way = 0; way < ways.size(); ++way) {
    separate.scores = ways[way].second;
    const AttentionResult one = packed.with_weights(queries, memory, memory, masks[way]);
    const AttentionResult other = separate.forward(queries, memory, memory);
    const bool same = max(abs(one.output - other.output)).item() < 1e-14;
    std::cout << ways[way].first << ", weights of the first head:\n"
              << one.weights[0][0].detach() << "\n"
              << (same ? "equal to separate heads\n" : "NOT equal to separate heads\n");
    const auto forward = [&](const Tensors& in) { return packed(in[0], in[1], in[1], masks[way]); };
    right &= verdict(gradcheck(forward, {queries, memory})) && same;
  }
  right &= verdict(gradcheck(packed, {queries, memory, memory}, allow_zero_key_biases(packed)));
  return right ? 0 : 1;
}
