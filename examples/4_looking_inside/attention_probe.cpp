// Prints the probabilities of one cross-attention head and the gradients of the loss with respect to them and the
// scores.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

int main() {
  manual_seed(1);
  models::Transformer model({.src_vocab = 9,
                             .tgt_vocab = 9,
                             .d_model = 16,
                             .layers = 2,
                             .heads = 4,
                             .d_ff = 32,
                             .dropout = 0,
                             .max_length = 8});
  const Tensor src = tensor({{3, 4, 5, 6}}, i64), tgt_in = tensor({{1, 7, 8}}, i64), tgt_out = tensor({{7, 8, 2}}, i64);

  const inspect::AttentionProbe probe(model);
  cross_entropy(model(src, tgt_in), tgt_out).backward();

  for (const std::string& module : probe.modules()) std::cout << module << "\n";
  const inspect::AttentionRecord head = probe.record("decoder.layers.1.cross_attention").head(2);
  std::cout << "probabilities:\n" << head.values.probabilities << "\n";
  std::cout << "gradient of the probabilities:\n" << head.gradients.probabilities << "\n";
  std::cout << "gradient of the scores:\n" << head.gradients.scores << "\n";
}
