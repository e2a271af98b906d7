// Two sentences of eight tokens through the whole Transformer, with the shape of what each stage gives: [2, 8] source
// and target ids in, the scores of ten words at each of the eight target positions out, [2, 8, 10].
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
  show("  their mask, broadcast over heads and rows", src_mask.keep_mask());
  const Tensor memory = model.encode(src);
  show("  memory, what the encoder gives", memory);

  show("target ids", tgt);
  const Tensor moved = (*model.positions)(model.tgt_embedding(tgt) * 4);
  show("  embeddings with positions", moved);
  show("  their mask: none behind a position", tgt_mask.to_tensor(8, 8));
  auto& layer = model.decoder->layers[0];
  const AttentionResult self =
      layer->self_attention.call(&nn::MultiHeadAttention::with_weights, moved, moved, moved, tgt_mask);
  show("  self-attention's weights", self.weights);
  const AttentionResult cross =
      layer->cross_attention.call(&nn::MultiHeadAttention::with_weights, moved, memory, memory, src_mask);
  show("  cross-attention's weights", cross.weights);
  const Tensor decoded = model.decoder(moved, memory, tgt_mask, src_mask);
  show("  what the decoder gives", decoded);
  show("logits", model.output(decoded));

  // One call does all of it.
  const Tensor logits = model(src, tgt);
  show("model(src, tgt)", logits);
  fmt::print("the same values: {}\n", max(abs(logits - model.output(decoded))).item() < 1e-5 ? "yes" : "no");
  return logits.shape() == Shape{2, 8, 10} ? 0 : 1;
}
