// Checkpointed layers: bitwise the same gradients in less memory.

#include "autograd/transforms/checkpoint.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/transformer/encoder.h"

namespace tape::nn {
namespace {

std::vector<std::byte> bits(const Tensor& x) {
  const auto* raw = static_cast<const std::byte*>(x.raw());
  return {raw, raw + x.numel() * size_of(x.dtype())};
}

const TransformerLayerOptions kOptions{.d_model = 32, .heads = 4, .d_ff = 128, .dropout = 0.1};

/// A stack of encoder layers, each with or without its own checkpoint.
struct Blocks : Layer<Blocks> {
  Children<EncoderLayer> layers{this, "layers", 6, kOptions};
  bool checkpoints = false;
  Tensor forward(const Tensor& x, const Mask& mask) {
    Tensor h = x;
    for (int64_t i = 0; i < layers.size(); ++i) {
      const auto layer = [this, i, mask](const Tensors& in) { return layers[i](in[0], mask); };
      h = checkpoints ? checkpoint(layer, {h}) : layer({h});
    }
    return h;
  }
};

struct Outcome {
  std::vector<std::vector<std::byte>> gradients;
  std::vector<std::byte> loss;
  int64_t peak = 0;
};

Outcome step(Blocks& stack, bool checkpoints, const Tensor& x, const Mask& mask) {
  stack.checkpoints = checkpoints;
  stack.zero_grad();
  generator(Stream::dropout).set_state(4, 0);
  const int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  const Tensor loss = sum(square(stack(x, mask)));
  loss.backward();
  Outcome outcome{.gradients = {}, .loss = bits(loss), .peak = memory_stats().peak_bytes - before};
  for (const NamedTensor& named : stack.named_parameters()) outcome.gradients.push_back(bits(named.tensor.grad()));
  return outcome;
}

TEST(CheckpointedLayers, GiveTheSameBitsInLessMemory) {
  manual_seed(1);
  Blocks stack;
  const Tensor x = randn({8, 24, 32}), ids = randint(0, 4, {8, 24});
  const Mask mask = Mask::padding(ids, 0);
  const Outcome plain = step(stack, false, x, mask), again = step(stack, true, x, mask);
  EXPECT_EQ(plain.loss, again.loss);
  EXPECT_EQ(plain.gradients, again.gradients);
  EXPECT_LT(again.peak, plain.peak / 2);
}

TEST(CheckpointedLayers, KeepTheirPathInErrorsAndTraces) {
  Blocks stack;
  stack.checkpoints = true;
  const Trace trace;
  const Tensor x = randn({1, 2, 32}).requires_grad_();
  const Tensor y = stack(x, Mask());
  // Before the recomputation, which then fails.
  stack.layers[3]->norm1->register_forward_hook([](Module&, const Tensors&, const Tensor&) {
    return zeros({1, 2, 7});
  });
  try {
    sum(y).backward();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.module_path(), "layers.3.feed_forward.linear1") << error.what();
  }
}

TEST(CheckpointedLayers, WorkInsideATransformer) {
  manual_seed(1);
  models::Transformer model({.src_vocab = 11,
                             .tgt_vocab = 11,
                             .d_model = 16,
                             .layers = 2,
                             .heads = 2,
                             .d_ff = 32,
                             .dropout = 0.2,
                             .share_embeddings = true,
                             .tie_output = true});
  const Tensor src = randint(3, 11, {3, 5}), tgt = randint(3, 11, {3, 4}), out = randint(3, 11, {3, 4});
  const auto gradients = [&](bool checkpoints) {
    model.zero_grad();
    generator(Stream::dropout).set_state(4, 0);
    // Checkpoints the whole model: its embeddings are tied, so leaves are used both inside and outside.
    const auto forward = [&](const Tensors& in) { return model(in[0], in[1]); };
    const Tensor logits = checkpoints ? checkpoint(forward, {src, tgt}) : forward({src, tgt});
    (cross_entropy(logits, out) + sum(square(model.parameters()[0])) * 1e-3).backward();
    std::vector<std::vector<std::byte>> all;
    for (const Tensor& parameter : model.parameters()) all.push_back(bits(parameter.grad()));
    return all;
  };
  EXPECT_EQ(gradients(false), gradients(true));
}

}  // namespace
}  // namespace tape::nn
