#include "inspect/experiments/attention_probe.h"

#include <cmath>
#include <map>
#include <optional>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/einsum.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/op.h"
#include "autograd/transforms/checkpoint.h"
#include "models/decoders/gpt.h"
#include "models/decoders/gpt_neox.h"
#include "models/decoders/llama.h"
#include "models/encoder_decoders/bart.h"
#include "models/encoder_decoders/t5.h"
#include "models/encoder_decoders/transformer.h"
#include "models/encoders/bert.h"
#include "models/encoders/deberta.h"
#include "nn/attention/disentangled_attention.h"
#include "nn/attention/relative_attention.h"
#include "nn/gradcheck/check.h"
#include "nn/transformer/encoder.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;

/// A model, how to run it, and its attention modules in the order of their calls.
struct Case {
  std::string name;
  std::shared_ptr<nn::Module> model;
  std::function<Tensor()> logits;
  std::vector<std::string> modules;
};

Case transformer(DType dtype) {
  const auto model = std::make_shared<models::Transformer>(models::TransformerConfig{.src_vocab = 7,
                                                                                     .tgt_vocab = 7,
                                                                                     .d_model = 8,
                                                                                     .layers = 2,
                                                                                     .heads = 2,
                                                                                     .d_ff = 6,
                                                                                     .dropout = 0.2,
                                                                                     .max_length = 5});
  model->to(dtype);
  const Tensor src = tensor({{1, 2, 4, 5}, {3, 1, 0, 0}}, i64), tgt = tensor({{1, 4, 6}, {2, 3, 0}}, i64);
  return {"Transformer",
          model,
          [=] { return (*model)(src, tgt); },
          {"encoder.layers.0.self_attention", "encoder.layers.1.self_attention", "decoder.layers.0.self_attention",
           "decoder.layers.0.cross_attention", "decoder.layers.1.self_attention", "decoder.layers.1.cross_attention"}};
}

/// Relative bias and unscaled scores in both stacks; embedding norms and learned positions.
template <class Model, class Config>
Case reader(const char* name, const Config& config, DType dtype) {
  const auto model = std::make_shared<Model>(config);
  model->to(dtype);
  const Tensor src = tensor({{1, 2, 4, 5}, {3, 1, 0, 0}}, i64), tgt = tensor({{0, 4, 6}, {0, 3, 5}}, i64);
  return {name,
          model,
          [=] { return (*model)(src, tgt); },
          {"encoder.layers.0.self_attention", "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention"}};
}

Case t5(DType dtype) {
  const models::T5Config config{.vocab = 7,
                                .d_model = 8,
                                .layers = 1,
                                .decoder_layers = 1,
                                .heads = 2,
                                .head_width = 3,
                                .d_ff = 6,
                                .relative_bias = {.buckets = 4, .max_distance = 3},
                                .dropout = 0.2};
  return reader<models::T5>("T5", config, dtype);
}

Case bart(DType dtype) {
  const models::BartConfig config{.vocab = 7,
                                  .d_model = 8,
                                  .layers = 1,
                                  .heads = 2,
                                  .d_ff = 6,
                                  .decoder_layers = 1,
                                  .decoder_heads = 4,
                                  .decoder_d_ff = 5,
                                  .max_length = 5,
                                  .padding_id = 0,
                                  .init_std = 0.5};
  return reader<models::Bart>("Bart", config, dtype);
}

Case gpt(DType dtype) {
  const auto model = std::make_shared<models::Gpt>(
      models::GptConfig{.vocab = 7, .d_model = 8, .layers = 2, .heads = 4, .max_length = 5, .init_std = 0.5});
  model->to(dtype);
  const Tensor ids = tensor({{1, 2, 4, 5}, {3, 1, 0, 2}}, i64);
  return {"Gpt",
          model,
          [=] { return (*model)(ids); },
          {"encoder.layers.0.self_attention", "encoder.layers.1.self_attention"}};
}

Case bert(DType dtype) {
  const auto model = std::make_shared<models::Bert>(models::BertConfig{
      .vocab = 7, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 6, .max_length = 5, .init_std = 0.5});
  model->to(dtype);
  const Tensor ids = tensor({{1, 2, 4, 5}, {3, 1, 0, 0}}, i64);
  return {"Bert",
          model,
          [=] { return (*model)(ids); },
          {"encoder.layers.0.self_attention", "encoder.layers.1.self_attention"}};
}

/// Disentangled attention, with a separate bias for each pair of positions.
Case deberta(DType dtype) {
  const auto model = std::make_shared<models::Deberta>(models::DebertaConfig{.vocab = 7,
                                                                             .d_model = 8,
                                                                             .layers = 2,
                                                                             .heads = 2,
                                                                             .d_ff = 6,
                                                                             .max_length = 5,
                                                                             .max_relative_positions = 8,
                                                                             .position_buckets = 2,
                                                                             .init_std = 0.5});
  model->to(dtype);
  const Tensor ids = tensor({{1, 2, 4, 5}, {3, 1, 0, 0}}, i64);
  return {"Deberta",
          model,
          [=] { return (*model)(ids); },
          {"encoder.layers.0.self_attention", "encoder.layers.1.self_attention"}};
}

/// Grouped queries, query and key norms, and a window in the second layer.
Case llama(DType dtype) {
  const auto model = std::make_shared<models::Llama>(models::LlamaConfig{.kind = models::LlamaKind::qwen3,
                                                                         .vocab = 7,
                                                                         .d_model = 8,
                                                                         .layers = 2,
                                                                         .heads = 4,
                                                                         .kv_heads = 2,
                                                                         .head_width = 4,
                                                                         .d_ff = 6,
                                                                         .window = 2,
                                                                         .window_layers = {false, true},
                                                                         .init_std = 0.5});
  model->to(dtype);
  const Tensor ids = tensor({{1, 2, 4, 5}, {3, 1, 0, 2}}, i64);
  return {"Llama",
          model,
          [=] { return (*model)(ids); },
          {"encoder.layers.0.self_attention", "encoder.layers.1.self_attention"}};
}

Case gpt_neox(DType dtype) {
  const auto model = std::make_shared<models::GptNeoX>(models::GptNeoXConfig{
      .vocab = 7, .d_model = 8, .layers = 1, .heads = 1, .d_ff = 6, .dropout = 0.1, .init_std = 0.5});
  model->to(dtype);
  const Tensor ids = tensor({{1, 2, 4, 5}, {3, 1, 0, 2}}, i64);
  return {"GptNeoX", model, [=] { return (*model)(ids); }, {"encoder.layers.0.self_attention"}};
}

std::vector<Case> cases(DType dtype) {
  manual_seed(5);
  return {transformer(dtype), t5(dtype), bart(dtype), gpt(dtype), bert(dtype), llama(dtype), gpt_neox(dtype)};
}

/// Returns the logits after a backward from a sum that no symmetry makes zero.
Tensor train_once(const Case& c) {
  manual_seed(11);  // the same dropout each time
  c.model->zero_grad();
  const Tensor logits = c.logits();
  Generator stream(3);
  sum(logits * randn(logits.shape(), logits.dtype(), stream)).backward();
  return logits.detach();
}

TEST(AttentionProbe, ChangesNoValueOrGradient) {
  std::vector<Case> all = cases(f32);
  all.push_back(deberta(f32));  // whose layers have matrix products in addition to the attention steps
  for (const Case& c : all) {
    SCOPED_TRACE(c.name);
    const Tensor logits = train_once(c).clone();
    std::map<std::string, std::vector<float>> gradients;
    for (const NamedTensor& parameter : c.model->named_parameters())
      if (parameter.tensor.grad().defined()) gradients[parameter.name] = parameter.tensor.grad().to_vector<float>();
    ASSERT_FALSE(gradients.empty());

    AttentionProbe probe(*c.model);
    EXPECT_EQ(train_once(c).to_vector<float>(), logits.to_vector<float>());
    for (const NamedTensor& parameter : c.model->named_parameters()) {
      if (!parameter.tensor.grad().defined()) continue;
      EXPECT_EQ(parameter.tensor.grad().to_vector<float>(), gradients.at(parameter.name)) << parameter.name;
    }
    EXPECT_EQ(probe.modules(), c.modules);
  }
}

/// Collects the steps of attention in a Composed scope, by module.
class Steps : public Observer {
 public:
  explicit Steps(const std::vector<std::string>& modules) {
    for (const std::string& module : modules) tensors[module] = {};
  }

  void on_record(const Op& op, TensorList inputs, TensorList, AttributeList) override {
    AttentionTensors* const at = here();
    if (!at || std::string(op.name()) != "matmul") return;
    if (!at->query.defined())
      at->query = kept(inputs[0]), at->key = kept(inputs[1]);
    else
      at->value = kept(inputs[1]);
  }
  void on_node(Node& node, TensorList outputs) override {
    AttentionTensors* const at = here();
    if (!at) return;
    const std::string name = node.name();
    if (name == "affine") at->scores = kept(outputs[0]);
    if (name == "masked_fill" || name == "where") at->mask = kept(outputs[0]);  // its gradient is that of the mask
    if (name == "softmax") at->probabilities = kept(outputs[0]);
    if (name == "matmul" && at->value.defined()) at->context = kept(outputs[0]);
  }

  std::map<std::string, AttentionTensors> tensors;

 private:
  AttentionTensors* here() {
    const auto found = tensors.find(ModuleScope::path());
    return found == tensors.end() ? nullptr : &found->second;
  }
  static Tensor kept(const Tensor& tensor) {
    Tensor handle = tensor;
    handle.retain_grad();
    return handle;
  }
};

TEST(AttentionProbe, MatchesTheValuesAndGradientsOfAComposedRun) {
  for (const Case& c : cases(f64)) {
    Steps steps(c.modules);
    {
      const Composed composed;
      train_once(c);
    }
    AttentionProbe probe(*c.model);
    train_once(c);
    for (const std::string& module : c.modules) {
      SCOPED_TRACE(c.name + ": " + module);
      const AttentionRecord record = probe.record(module);
      const AttentionTensors& expected = steps.tensors.at(module);
      const AttentionTensors &values = record.values, &gradients = record.gradients;
      const auto same = [](const Tensor& value, const Tensor& gradient, const Tensor& step, const char* what) {
        EXPECT_TRUE(tensors_near(value, step, 1e-13)) << what;
        EXPECT_TRUE(tensors_near(gradient, step.grad(), 1e-12)) << what << " gradient";
        EXPECT_NE(sum(square(step.grad())).item(), 0) << what;
      };
      same(values.query, gradients.query, expected.query, "query");
      same(values.key, gradients.key, expected.key, "key");
      same(values.value, gradients.value, expected.value, "value");
      same(values.scores, gradients.scores, expected.scores, "scores");
      same(values.probabilities, gradients.probabilities, expected.probabilities, "probabilities");
      same(values.context, gradients.context, expected.context, "context");
      EXPECT_TRUE(tensors_near(values.scores + values.mask, expected.mask, 1e-13));
      EXPECT_TRUE(tensors_near(gradients.mask, expected.mask.grad(), 1e-12));
    }
  }
}

TEST(AttentionProbe, RecordsAComposedRun) {
  const Case c = transformer(f64);
  AttentionProbe fused(*c.model);
  train_once(c);
  const std::vector<AttentionRecord> expected = fused.records();
  const Composed composed;
  AttentionProbe probe(*c.model);
  train_once(c);
  const std::vector<AttentionRecord> records = probe.records();
  ASSERT_EQ(records.size(), expected.size());
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].module, expected[i].module);
    EXPECT_TRUE(tensors_near(records[i].values.context, expected[i].values.context, 1e-12));
    EXPECT_TRUE(tensors_near(records[i].gradients.probabilities, expected[i].gradients.probabilities, 1e-12));
  }
}

TEST(AttentionProbe, ReturnsShapesAndHeads) {
  const Case c = transformer(f32);
  AttentionProbe probe(*c.model);
  train_once(c);
  const AttentionRecord cross = probe.record("decoder.layers.1.cross_attention");
  EXPECT_EQ(cross.heads, 2);
  EXPECT_EQ(cross.values.query.shape(), Shape({2, 2, 3, 4}));
  EXPECT_EQ(cross.values.key.shape(), Shape({2, 2, 4, 4}));
  EXPECT_EQ(cross.values.mask.shape(), Shape({2, 2, 3, 4}));
  EXPECT_EQ(cross.gradients.scores.shape(), Shape({2, 2, 3, 4}));
  // The second source ends with two positions of padding.
  EXPECT_EQ(cross.values.mask.to_vector<float>()[0], 0);
  EXPECT_EQ(cross.values.mask.to_vector<float>().back(), -INFINITY);
  EXPECT_EQ(cross.values.probabilities.to_vector<float>().back(), 0);
  const AttentionRecord head = cross.head(1);
  EXPECT_EQ(head.values.probabilities.shape(), Shape({2, 3, 4}));
  EXPECT_EQ(head.gradients.query.shape(), Shape({2, 3, 4}));
  EXPECT_EQ(head.values.probabilities.to_vector<float>()[0], cross.values.probabilities.to_vector<float>()[12]);
  EXPECT_TAPE_ERROR(cross.head(2), ErrorKind::index, "decoder.layers.1.cross_attention: head 2 is outside [0, 2)");
  EXPECT_FALSE(cross.values.query.requires_grad());
}

TEST(AttentionProbe, HasGradientsAfterBackwardOnly) {
  const Case c = gpt(f32);
  AttentionProbe probe(*c.model);
  const Tensor logits = c.logits();
  EXPECT_TRUE(probe.record(c.modules[0]).values.scores.defined());
  EXPECT_FALSE(probe.record(c.modules[0]).gradients.scores.defined());
  sum(square(logits)).backward();
  EXPECT_TRUE(probe.record(c.modules[0]).gradients.scores.defined());
  probe.clear();
  EXPECT_TRUE(probe.records().empty());
  {
    const NoGrad no_grad;
    c.logits();
    c.logits();
  }
  EXPECT_EQ(probe.records().size(), 4u);  // two layers, twice
  EXPECT_EQ(probe.modules(), c.modules);
  EXPECT_FALSE(probe.records()[0].gradients.scores.defined());
}

TEST(AttentionProbe, RecordsADecoderWithACache) {
  const auto model = std::make_shared<models::Gpt>(
      models::GptConfig{.vocab = 7, .d_model = 8, .layers = 1, .heads = 2, .max_length = 8});
  model->eval();
  const NoGrad no_grad;
  AttentionProbe probe(*model);
  const Tensor ids = tensor({{1, 2, 4, 5}}, i64);
  (*model)(ids);
  const Tensor whole = probe.record("encoder.layers.0.self_attention").values.probabilities;
  auto cache = model->encoder->init_cache();
  for (int64_t t = 0; t < 4; ++t) model->forward_cached(slice(ids, 1, {.start = t, .end = t + 1}), cache);
  const AttentionRecord last = probe.record("encoder.layers.0.self_attention");
  ASSERT_EQ(last.values.probabilities.shape(), Shape({1, 2, 1, 4}));
  for (size_t h = 0; h < 2; ++h)
    for (size_t j = 0; j < 4; ++j)
      EXPECT_NEAR(last.values.probabilities.to_vector<float>()[h * 4 + j], whole.to_vector<float>()[h * 16 + 12 + j],
                  1e-6);
}

TEST(AttentionProbe, RecordsModulesInsideACheckpoint) {
  manual_seed(5);
  nn::Encoder encoder(1, {.d_model = 8, .heads = 2, .d_ff = 6, .dropout = 0.2});
  const Tensor x = sample_normal({2, 3, 8}).to(f32).requires_grad_();
  const auto record_of = [&](bool kept) {
    manual_seed(11);
    AttentionProbe probe(encoder);
    sum(square(kept ? encoder(x) : checkpoint([&](const Tensors& in) { return encoder(in[0]); }, {x}))).backward();
    EXPECT_EQ(probe.records().size(), kept ? 1u : 2u);  // the backward runs it again
    return probe.record("layers.0.self_attention");
  };
  const AttentionRecord kept = record_of(true), again = record_of(false);
  EXPECT_TRUE(tensors_near(again.values.probabilities, kept.values.probabilities, 0));
  ASSERT_TRUE(again.gradients.scores.defined());
  EXPECT_TRUE(tensors_near(again.gradients.scores, kept.gradients.scores, 0));
}

TEST(AttentionProbe, RecordsAdditiveMasksAndRequestedWeights) {
  nn::DisentangledAttention layer(8, 2, {.max_distance = 4});
  layer.to(f64);
  const Tensor x = sample_normal({2, 3, 8}).requires_grad_(), positions = sample_normal({8, 8}, 2);
  for (const bool composed : {false, true}) {
    SCOPED_TRACE(composed);
    std::optional<Composed> scope;
    if (composed) scope.emplace();
    AttentionProbe probe(layer);
    const AttentionResult result = layer.with_weights(x, x, x, positions);
    (sum(square(result.output)) + sum(square(result.weights))).backward();
    const AttentionRecord record = probe.record("");
    EXPECT_TRUE(tensors_near(record.values.probabilities, result.weights.detach(), 1e-13));
    EXPECT_NE(sum(square(record.values.mask)).item(), 0);
    // dP = dO V^T + dW: the gradients through the output and through the weights, each counted once.
    const AttentionTensors &v = record.values, &g = record.gradients;
    const Tensor through_output = matmul(g.context, v.value, {.transpose_b = true});
    EXPECT_TRUE(tensors_near(g.probabilities, through_output + v.probabilities * 2, 1e-12));
    const Tensor p = v.probabilities;
    EXPECT_TRUE(tensors_near(g.scores, p * (g.probabilities - sum(g.probabilities * p, -1, Dims::keep)), 1e-12));
  }
}

/// Gradients of a head of relative attention, by the formulas of Shaw et al.: dp = dz·(v + b), ds = p (dp - sum dp p),
/// dq = scale sum ds (k + a).
TEST(AttentionProbe, RecordsRelativePositions) {
  manual_seed(4);
  nn::RelativeAttention layer(8, 2, {.max_distance = 2});
  layer.to(f64);
  layer.eval();
  const Tensor x = sample_normal({2, 5, 8}).requires_grad_();
  Tensor rows = empty({5, 5}, i64);
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 5; ++j) rows.mutable_data<int64_t>()[i * 5 + j] = std::clamp<int64_t>(j - i, -2, 2) + 2;
  const Tensor a = embedding(layer.key_positions.detach(), rows), b = embedding(layer.value_positions.detach(), rows);
  for (const bool composed : {false, true}) {
    SCOPED_TRACE(composed);
    std::optional<Composed> scope;
    if (composed) scope.emplace();
    AttentionProbe probe(layer);
    const AttentionResult result = layer.with_weights(x, x, x, Mask::causal());
    (sum(square(result.output)) + sum(square(result.weights))).backward();
    const AttentionRecord record = probe.record("");
    const AttentionTensors &v = record.values, &g = record.gradients;
    EXPECT_EQ(record.heads, 2);
    EXPECT_TRUE(tensors_near(v.probabilities, result.weights.detach(), 1e-13));
    EXPECT_TRUE(tensors_near(v.scores, matmul(v.query, v.key, {.transpose_b = true}) * 0.5, 1e-13));
    EXPECT_TRUE(tensors_near(softmax(v.scores + v.mask, -1), v.probabilities, 1e-13));
    EXPECT_EQ(v.mask.to_vector<double>()[1], -INFINITY);  // causal
    const Tensor positions = einsum("bhid,ijd->bhij", {v.query, a}) * 0.5;
    EXPECT_NEAR(v.mask.to_vector<double>()[5], positions.to_vector<double>()[5], 1e-13);
    const Tensor p = v.probabilities;
    const Tensor through_output =
        matmul(g.context, v.value, {.transpose_b = true}) + einsum("bhid,ijd->bhij", {g.context, b});
    EXPECT_TRUE(tensors_near(g.probabilities, through_output + p * 2, 1e-12));
    EXPECT_TRUE(tensors_near(g.scores, p * (g.probabilities - sum(g.probabilities * p, -1, Dims::keep)), 1e-12));
    EXPECT_TRUE(
        tensors_near(g.query, (matmul(g.scores, v.key) + einsum("bhij,ijd->bhid", {g.scores, a})) * 0.5, 1e-12));
  }
}

TEST(AttentionProbe, ReplaysDropoutWithRelativePositions) {
  manual_seed(4);
  nn::RelativeAttention layer(8, 2, {.max_distance = 2, .dropout = 0.5});
  layer.to(f64);
  const Tensor x = sample_normal({1, 5, 8}).requires_grad_();
  AttentionProbe probe(layer);
  Tensor context;
  const int64_t hook = layer.output->register_forward_pre_hook([&](nn::Module&, const Tensors& inputs) {
    context = inputs[0].detach();
    return Tensors();
  });
  sum(square(layer(x))).backward();
  layer.output->remove_hook(hook);
  const Tensor replayed = probe.record("").values.context;  // [1, H, T, D]
  EXPECT_TRUE(tensors_near(reshape(transpose(replayed, 1, 2), Shape{1, 5, 8}), context, 1e-13));
}

TEST(AttentionProbe, IgnoresOtherModels) {
  const Case one = gpt(f32);
  const Case other = transformer(f32);
  AttentionProbe probe(*one.model);
  other.logits();
  EXPECT_THAT(probe.modules(), testing::Not(testing::Contains("decoder.layers.0.cross_attention")));
}

TEST(AttentionProbe, NamesTheAvailableModulesInErrors) {
  nn::Linear linear(2, 2);
  EXPECT_TAPE_ERROR(AttentionProbe(linear), ErrorKind::config,
                    "AttentionProbe: Linear has no MultiHeadAttention, DisentangledAttention or RelativeAttention");
  const Case c = gpt(f32);
  AttentionProbe probe(*c.model);
  EXPECT_TAPE_ERROR(probe.record("encoder"), ErrorKind::config,
                    "AttentionProbe: \"encoder\" was not called; these were: none");
  c.logits();
  EXPECT_TAPE_ERROR(probe.record("encoder"), ErrorKind::config,
                    "AttentionProbe: \"encoder\" was not called; these were: encoder.layers.0.self_attention, "
                    "encoder.layers.1.self_attention");
}

}  // namespace
}  // namespace tape::inspect
