// Stacks of checkpointed layers: bitwise the same gradients, including those of shared parameters.
#include "nn/transformer/layer_checkpoints.h"

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "models/encoder_decoders/t5.h"
#include "models/encoders/deberta.h"
#include "models/encoders/mpnet.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

/// Returns the gradients of every parameter, for a sum that is not zero by symmetry.
template <class M, class... A>
StateDict gradients(M& model, bool checkpoints, const A&... inputs) {
  set_layer_checkpoints(model, checkpoints);
  model.zero_grad();
  manual_seed(3);  // for the dropout
  const Tensor y = model(inputs...);
  sum(y * cos(reshape(cast(arange(y.numel()), f32), y.shape()))).backward();
  StateDict all;
  for (const NamedTensor& parameter : model.named_parameters()) {
    const Tensor gradient = parameter.tensor.grad();
    all[parameter.name] = gradient.defined() ? gradient.clone() : zeros_like(parameter.tensor);
  }
  return all;
}

template <class M, class... A>
void expect_same_bits(M& model, const std::string& shared, const A&... inputs) {
  const StateDict plain = gradients(model, false, inputs...), again = gradients(model, true, inputs...);
  ASSERT_TRUE(plain.contains(shared));
  EXPECT_GT(max(abs(plain.at(shared))).item(), 0);
  for (const auto& [name, gradient] : plain) EXPECT_TRUE(tensors_equal(again.at(name), gradient)) << name;
}

const Tensor& some_tokens() {
  static const Tensor ids = tensor({{4, 2, 6, 5, 7}, {5, 6, 4, 1, 1}}, i64);
  return ids;
}

TEST(LayerCheckpoints, PreserveTheGradientOfASharedBias) {
  models::T5 t5({.vocab = 9, .d_model = 8, .layers = 2, .decoder_layers = 2, .heads = 2, .head_width = 4, .d_ff = 12});
  expect_same_bits(t5, "encoder.relative_bias.weight", some_tokens(), tensor({{0, 4, 5}, {0, 6, 7}}, i64));
  expect_same_bits(t5, "decoder.relative_bias.weight", some_tokens(), tensor({{0, 4, 5}, {0, 6, 7}}, i64));
  models::MPNet mpnet({.vocab = 9, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 12, .max_length = 8});
  expect_same_bits(mpnet, "encoder.relative_bias.weight", some_tokens());
}

TEST(LayerCheckpoints, PreserveTheGradientOfSharedPositionRows) {
  models::Deberta deberta({.vocab = 9, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 12, .max_length = 8});
  expect_same_bits(deberta, "encoder.relative_rows.weight", some_tokens());
}

TEST(LayerCheckpoints, CountTheLayersOfAllStacks) {
  models::T5 t5({.vocab = 9, .d_model = 8, .layers = 2, .decoder_layers = 3, .heads = 2, .head_width = 4, .d_ff = 12});
  EXPECT_EQ(set_layer_checkpoints(t5, true), 5);
  EXPECT_TRUE(t5.encoder->checkpoints_layers() && t5.decoder->checkpoints_layers());
  Linear linear(2, 2);
  EXPECT_EQ(set_layer_checkpoints(linear, true), 0);
}

}  // namespace
}  // namespace tape::nn
