#include "models/decoders/llama.h"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/decoders/gpt_neox.h"
#include "nn/module/print.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

LlamaConfig tiny_llama(LlamaKind kind = LlamaKind::llama) {
  return {.kind = kind,
          .vocab = 11,
          .d_model = 8,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .d_ff = 12,
          .max_length = 6,
          .init_std = 0.3};
}

/// One model of each kind, using all of its features.
std::vector<std::unique_ptr<CausalLM>> one_of_each() {
  std::vector<std::unique_ptr<CausalLM>> all;
  for (const LlamaKind kind : {LlamaKind::llama, LlamaKind::mistral, LlamaKind::qwen2, LlamaKind::qwen3}) {
    LlamaConfig config = tiny_llama(kind);
    if (kind != LlamaKind::llama) config.window = 3;
    if (kind == LlamaKind::qwen2) config.window_layers = {false, true};
    if (kind == LlamaKind::qwen3) config.head_width = 4;
    all.push_back(std::make_unique<Llama>(config));
  }
  all.push_back(std::make_unique<GptNeoX>(GptNeoXConfig{
      .vocab = 11, .d_model = 16, .layers = 2, .heads = 2, .d_ff = 12, .max_length = 6, .init_std = 0.3}));
  for (const auto& model : all) model->eval();
  return all;
}

std::string name_of(const CausalLM& model) {
  const auto* llama = dynamic_cast<const Llama*>(&model);
  return llama ? std::string(to_string(llama->config().kind)) : model.type_name();
}

TEST(Decoders, AreCausal) {
  manual_seed(2);
  for (const auto& model : one_of_each()) {
    const Tensor before = (*model)(tensor({{1, 2, 3, 4}}, i64)), after = (*model)(tensor({{1, 2, 9, 8}}, i64));
    EXPECT_TRUE(tensors_equal(slice(before, 1, {.end = 2}), slice(after, 1, {.end = 2}))) << name_of(*model);
    EXPECT_FALSE(tensors_near(slice(before, 1, {.start = 2}), slice(after, 1, {.start = 2}), 1e-3)) << name_of(*model);
  }
}

TEST(Decoders, GiveTheSameLogitsWithACache) {
  manual_seed(2);
  const Tensor ids = randint(0, 11, {2, 14});  // more than max_length, which is not a limit
  for (const auto& model : one_of_each()) {
    nn::EncoderCache cache = model->encoder->init_cache();
    Tensors parts;
    for (const auto& [start, end] : {std::pair{0, 5}, std::pair{5, 6}, std::pair{6, 9}, std::pair{9, 14}})
      parts.push_back(model->forward_cached(slice(ids, 1, {.start = start, .end = end}), cache));
    EXPECT_TRUE(tensors_near(cat(parts, 1), (*model)(ids), 1e-5)) << name_of(*model);
    EXPECT_FALSE(model->max_length()) << name_of(*model);
  }
}

TEST(Decoders, IgnoreLeftPadding) {
  manual_seed(2);
  for (const auto& model : one_of_each()) {
    const Tensor text = tensor({{4, 7, 1, 9}}, i64), padded = tensor({{0, 0, 4, 7, 1, 9}}, i64);
    nn::EncoderCache alone = model->encoder->init_cache(), behind = model->encoder->init_cache();
    const Tensor a = model->next_logits(text, tensor({{0, 1, 2, 3}}, i64), alone);
    const Tensor b = model->next_logits(padded, tensor({{0, 0, 0, 1, 2, 3}}, i64), behind, Mask::padding(padded, 0));
    EXPECT_TRUE(tensors_near(a, b, 1e-5)) << name_of(*model);
  }
}

TEST(Llama, AppliesItsSlidingWindow) {
  manual_seed(2);
  LlamaConfig config = tiny_llama(LlamaKind::mistral);
  config.layers = 1;
  config.window = 2;
  Llama model(config);
  model.eval();
  // With one layer, the third position sees the second and itself.
  const Tensor a = model(tensor({{1, 2, 3}}, i64)), b = model(tensor({{9, 2, 3}}, i64));
  EXPECT_TRUE(tensors_equal(select(a, 1, 2), select(b, 1, 2)));
  EXPECT_FALSE(tensors_near(select(a, 1, 1), select(b, 1, 1), 1e-3));
}

TEST(Llama, HasTheFeaturesOfItsKind) {
  const auto names = [](LlamaConfig config) {
    Llama model(config);
    std::set<std::string> found;
    for (const NamedTensor& parameter : model.named_parameters())
      if (parameter.name.starts_with("encoder.layers.1.self_attention."))
        found.insert(parameter.name.substr(std::string("encoder.layers.1.self_attention.").size()));
    return found;
  };
  using Names = std::set<std::string>;
  const Names plain{"query.weight", "key.weight", "value.weight", "output.weight"};
  EXPECT_EQ(names(tiny_llama(LlamaKind::llama)), plain);
  EXPECT_EQ(names(tiny_llama(LlamaKind::mistral)), plain);
  Names biases = plain;
  biases.insert({"query.bias", "key.bias", "value.bias"});
  EXPECT_EQ(names(tiny_llama(LlamaKind::qwen2)), biases);
  biases.insert("output.bias");
  LlamaConfig config = tiny_llama(LlamaKind::llama);
  config.attention_bias = true;
  EXPECT_EQ(names(config), biases);
  Names norms = plain;
  norms.insert({"query_norm.weight", "key_norm.weight"});
  EXPECT_EQ(names(tiny_llama(LlamaKind::qwen3)), norms);
}

TEST(Llama, SupportsAnIndependentHeadWidth) {
  LlamaConfig config = tiny_llama(LlamaKind::qwen3);
  config.head_width = 6;
  Llama model(config);
  const nn::MultiHeadAttention& attention = *model.encoder->layers[0]->self_attention;
  EXPECT_EQ(attention.query->weight.shape(), (Shape{24, 8}));
  EXPECT_EQ(attention.key->weight.shape(), (Shape{12, 8}));
  EXPECT_EQ(attention.output->weight.shape(), (Shape{8, 24}));
  EXPECT_EQ(*Llama(tiny_llama()).config().head_width, 2);
}

TEST(Llama, TiesItsOutputAndNeverTrainsPadding) {
  LlamaConfig config = tiny_llama();
  config.tie_output = true;
  Llama tied(config);
  EXPECT_TRUE(tied.output->weight.is(tied.embeddings->token->weight));
  config.tie_output = false;
  config.padding_id = 3;
  Llama apart(config);
  EXPECT_FALSE(apart.output->weight.is(apart.embeddings->token->weight));
  sum(apart(tensor({{3, 4, 3}}, i64))).backward();
  EXPECT_TRUE(tensors_equal(apart.embeddings->token->weight.grad()[3], zeros({8})));
}

TEST(Llama, InitializesResidualProjectionsSmaller) {
  manual_seed(2);
  Llama model({.vocab = 50, .d_model = 64, .layers = 8, .heads = 2, .d_ff = 96});
  const auto deviation = [](const Tensor& x) { return std::sqrt(var(x).item()); };
  const std::map<std::string, Tensor> state = model.state_dict();
  for (const char* name : {"self_attention.output", "feed_forward.down"})
    EXPECT_NEAR(deviation(state.at(fmt::format("encoder.layers.3.{}.weight", name))), 0.02 / 4, 0.0003) << name;
  EXPECT_NEAR(deviation(model.encoder->layers[3]->self_attention->query->weight), 0.02, 0.001);
  EXPECT_NEAR(deviation(model.embeddings->token->weight), 0.02, 0.001);
}

TEST(Decoders, ShowTheirSettingsInTheSummary) {
  const auto found = [](CausalLM& model) { return nn::summary(model, tensor({{1, 2, 3}}, i64)); };
  for (const auto& model : one_of_each()) {
    const std::string summary = found(*model);
    for (const char* part : {"[1, 3, 11]", "Embeddings(11 ids", "Rotary(", "NextTokenHead("})
      EXPECT_NE(summary.find(part), std::string::npos) << part << " in\n" << summary;
    EXPECT_EQ(summary.find("LayerNorm(") == std::string::npos, model->type_name() == "Llama") << summary;
  }
}

TEST(Llama, NamesTheInvalidValue) {
  const auto refused = [](const std::function<void(LlamaConfig&)>& change, const std::string& sentence,
                          LlamaKind kind = LlamaKind::llama) {
    LlamaConfig config = tiny_llama(kind);
    change(config);
    EXPECT_TAPE_ERROR(Llama(config), ErrorKind::config, sentence);
  };
  refused([](auto& c) { c.vocab = 0; }, "Llama: vocab must be at least 1, got 0");
  refused([](auto& c) { c.layers = 0; }, "Llama: layers must be at least 1, got 0");
  refused([](auto& c) { c.kv_heads = 0; }, "Llama: kv_heads must be at least 1, got 0");
  refused([](auto& c) { c.head_width = -2; }, "Llama: head_width must be at least 1, got -2");
  refused([](auto& c) { c.kv_heads = 3; }, "Llama: heads 4 is not divisible by kv_heads 3");
  refused([](auto& c) { c.heads = 3, c.kv_heads = 1; },
          "Llama: d_model 8 is not divisible by heads 3, and head_width is not set");
  refused([](auto& c) { c.window = 0; }, "Llama: window must be at least 1, got 0", LlamaKind::mistral);
  refused([](auto& c) { c.window = 2; }, "Llama: kind llama has no window");
  refused(
      [](auto& c) {
        c.window_layers = {true, true};
      },
      "Llama: kind mistral has no window_layers", LlamaKind::mistral);
  refused([](auto& c) { c.attention_bias = true; }, "Llama: kind qwen2 has no attention_bias", LlamaKind::qwen2);
  refused([](auto& c) { c.mlp_bias = true; }, "Llama: kind qwen3 has no mlp_bias", LlamaKind::qwen3);
  refused([](auto& c) { c.window = 2, c.window_layers = {true}; }, "Llama: window_layers has 1 entries for 2 layers",
          LlamaKind::qwen2);
  refused(
      [](auto& c) {
        c.window_layers = {true, false};
      },
      "Llama: window_layers selects layers, but window is not set", LlamaKind::qwen2);
  refused([](auto& c) { c.padding_id = 11; }, "Llama: padding_id must be from 0 to 10, got 11");
}

TEST(GptNeoX, NamesTheInvalidValue) {
  const GptNeoXConfig tiny{.vocab = 11, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12};
  const auto refused = [&](const std::function<void(GptNeoXConfig&)>& change, const std::string& sentence) {
    GptNeoXConfig config = tiny;
    change(config);
    EXPECT_TAPE_ERROR(GptNeoX(config), ErrorKind::config, sentence);
  };
  refused([](auto& c) { c.d_ff = 0; }, "GptNeoX: d_ff must be at least 1, got 0");
  refused([](auto& c) { c.heads = 3; }, "GptNeoX: d_model 8 is not divisible by heads 3");
  refused([](auto&) {}, "Rotary: cannot rotate 1 of 4 columns per head in pairs");
}

TEST(GptNeoX, RunsBothBlocksInParallelOrInSequence) {
  GptNeoXConfig config{.vocab = 11, .d_model = 8, .layers = 1, .heads = 1, .d_ff = 12, .init_std = 0.5};
  manual_seed(3);
  GptNeoX beside(config);
  config.parallel = false;
  GptNeoX behind(config);
  behind.load_state_dict(beside.state_dict());
  const Tensor ids = tensor({{1, 2, 3}}, i64);
  EXPECT_FALSE(tensors_near(beside(ids), behind(ids), 1e-3));
  // If attention adds nothing, both are the same.
  const NoGrad no_grad;
  for (GptNeoX* model : {&beside, &behind}) model->encoder->layers[0]->self_attention->output->weight.zero_();
  EXPECT_TRUE(tensors_near(beside(ids), behind(ids), 1e-5));
}

TEST(CausalLMs, MayHaveLayersThatDiffer) {
  const nn::TransformerLayerOptions layer{
      .d_model = 8, .heads = 2, .d_ff = 12, .norm = nn::NormPlace::pre, .rotary = nn::RotaryOptions{}};
  EXPECT_TAPE_ERROR(CausalLM({.vocab = 5, .d_model = 8, .embeddings = {.max_length = 0}, .layers = {}}),
                    ErrorKind::config, "Encoder: needs the options of at least one layer");
  CausalLM model({.vocab = 5, .d_model = 8, .embeddings = {.max_length = 4}, .layers = {layer, layer}});
  EXPECT_EQ(model.max_length(), 4);
}

}  // namespace
}  // namespace tape::models
