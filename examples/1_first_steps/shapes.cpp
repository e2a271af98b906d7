// Prints the output shape of every stage of an encoder-decoder Transformer. The inputs are source and target ids of two
// sentences of eight tokens, [2, 8]; the output is the logits of ten words at each target position, [2, 8, 10].
#include <tapeformer.h>

#include <fmt/core.h>

using namespace tape;

void show(const char* stage, const Tensor& x) { fmt::print("{:43} {}\n", stage, to_string(x.shape())); }

int main() {
  manual_seed(1);
  models::Transformer model(
      {.src_vocab = 10, .tgt_vocab = 10, .d_model = 16, .layers = 2, .heads = 4, .d_ff = 64, .max_length = 8});
  model.eval();

  const Tensor src = randint(3, 10, {2, 8}), tgt = randint(3, 10, {2, 8});
  const Mask src_mask = source_mask(src, 0), tgt_mask = target_mask(tgt, 0);
  const NoGrad no_grad;

  show("source ids", src);
  const Tensor embedded = model.src_embedding(src);
  show("  embeddings", embedded);
  show("  with positions", (*model.positions)(embedded * 4));  // sqrt(d_model)
  show("  mask, broadcast over heads and queries", src_mask.keep_mask());
  const Tensor memory = model.encode(src);
  show("  encoder output (memory)", memory);

  show("target ids", tgt);
  const Tensor tgt_embedded = (*model.positions)(model.tgt_embedding(tgt) * 4);
  show("  embeddings with positions", tgt_embedded);
  show("  causal and padding mask", tgt_mask.to_tensor(8, 8));
  auto& layer = model.decoder->layers[0];
  const AttentionResult self = layer->self_attention.call(&nn::MultiHeadAttention::with_weights, tgt_embedded,
                                                          tgt_embedded, tgt_embedded, tgt_mask);
  show("  self-attention weights", self.weights);
  const AttentionResult cross =
      layer->cross_attention.call(&nn::MultiHeadAttention::with_weights, tgt_embedded, memory, memory, src_mask);
  show("  cross-attention weights", cross.weights);
  const Tensor decoded = model.decoder(tgt_embedded, memory, tgt_mask, src_mask);
  show("  decoder output", decoded);
  show("logits", model.output(decoded));

  // One call runs all stages.
  const Tensor logits = model(src, tgt);
  show("model(src, tgt)", logits);
  fmt::print("same values: {}\n", max(abs(logits - model.output(decoded))).item() < 1e-5 ? "yes" : "no");
  return logits.shape() == Shape{2, 8, 10} ? 0 : 1;
}
