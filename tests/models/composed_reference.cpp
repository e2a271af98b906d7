// Whole models with random sizes, ids and masks: fused operations give the same results as their composed reference
// implementations. TAPEFORMER_PROPERTY_SEED draws others.

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/tape/tape.h"
#include "models/decoders/gpt.h"
#include "models/decoders/gpt_neox.h"
#include "models/decoders/llama.h"
#include "models/encoder_decoders/transformer.h"
#include "models/heads/masked_language_model.h"
#include "models/heads/sequence_classifier.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

/// Sizes and masks of one model.
class Choices {
 public:
  explicit Choices(uint64_t seed) : draws_(seed) {}
  int64_t between(int64_t low, int64_t high) { return low + draws_.below(high - low + 1); }
  bool often(double p = 0.5) { return draws_.uniform() < p; }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[draws_.below(std::ssize(choices))];
  }
  Tensor ids(int64_t batch, int64_t length, int64_t vocab) { return randint(0, vocab, {batch, length}, draws_); }

  /// A mask of scores [B, H, Tq, Tk]; a query may see nothing at all.
  Mask mask(const Tensor& keys, int64_t heads, int64_t queries, DType dtype) {
    const int64_t batch = keys.size(0), length = keys.size(1);
    const Shape all{often() ? batch : 1, often() ? heads : 1, often() ? queries : 1, length};
    Mask mask;
    if (often(0.4)) mask = mask & Mask::causal(between(0, 2));
    if (often(0.4)) mask = mask & Mask::padding(keys, 0);
    if (often(0.4)) mask = mask & Mask::keep(lt(rand(all, f64, draws_), 0.7));
    if (often(0.4)) mask = mask & Mask::additive(randn(all, dtype, draws_));
    return mask;
  }

 private:
  Generator draws_;
};

struct RandomModel {
  std::string name;
  std::shared_ptr<nn::Module> model;
  std::function<Tensor()> forward;
};

nn::ActivationKind any_activation(Choices& choices) {
  using enum nn::ActivationKind;
  return choices.one_of({relu, gelu, gelu_tanh, silu});
}

RandomModel transformer(Choices& choices, DType dtype) {
  const int64_t heads = choices.between(1, 3), batch = choices.between(1, 3);
  const int64_t source = choices.between(1, 6), target = choices.between(1, 6);
  TransformerConfig config{.src_vocab = 9,
                           .tgt_vocab = choices.one_of<int64_t>({9, 11}),
                           .d_model = heads * choices.one_of<int64_t>({2, 4, 6}),
                           .layers = choices.between(1, 2),
                           .heads = heads,
                           .d_ff = choices.between(1, 12),
                           .dropout = choices.one_of({0.0, 0.3}),
                           .activation = any_activation(choices),
                           .norm = choices.one_of({nn::NormPlace::pre, nn::NormPlace::post}),
                           .max_length = 8,
                           .tie_output = choices.often()};
  config.share_embeddings = config.tgt_vocab == config.src_vocab && choices.often();
  auto model = std::make_shared<Transformer>(config);
  const Tensor src = choices.ids(batch, source, 9), tgt = choices.ids(batch, target, config.tgt_vocab);
  const Mask src_mask = choices.mask(src, 1, 1, dtype), tgt_mask = choices.mask(tgt, heads, target, dtype);
  return {"Transformer", model, [=] { return model->forward(src, tgt, src_mask, tgt_mask); }};
}

RandomModel gpt(Choices& choices, DType dtype) {
  const int64_t heads = choices.between(1, 3), batch = choices.between(1, 3), length = choices.between(1, 7);
  auto model = std::make_shared<Gpt>(GptConfig{.vocab = 9,
                                               .d_model = heads * choices.one_of<int64_t>({2, 4, 6}),
                                               .layers = choices.between(1, 2),
                                               .heads = heads,
                                               .max_length = 8,
                                               .activation = any_activation(choices),
                                               .dropout = choices.one_of({0.0, 0.3}),
                                               .tie_output = choices.often()});
  const Tensor ids = choices.ids(batch, length, 9);
  const Mask mask = choices.mask(ids, heads, length, dtype);
  return {"Gpt", model, [=] { return model->forward(ids, mask); }};
}

RandomModel llama(Choices& choices, DType dtype) {
  using enum LlamaKind;
  const int64_t groups = choices.between(1, 2), heads = groups * choices.between(1, 2);
  const int64_t batch = choices.between(1, 3), length = choices.between(1, 7);
  LlamaConfig config{.kind = choices.one_of({LlamaKind::llama, mistral, qwen2, qwen3}),
                     .vocab = 9,
                     .d_model = choices.between(3, 9),
                     .layers = choices.between(1, 2),
                     .heads = heads,
                     .kv_heads = groups,
                     .head_width = choices.one_of<int64_t>({2, 4, 6}),
                     .d_ff = choices.between(1, 12),
                     .activation = any_activation(choices),
                     .attention_dropout = choices.one_of({0.0, 0.3}),
                     .tie_output = choices.often()};
  if (config.kind != LlamaKind::llama && choices.often()) config.window = choices.between(1, 5);
  if (config.kind == LlamaKind::llama) config.attention_bias = choices.often(), config.mlp_bias = choices.often();
  auto model = std::make_shared<Llama>(config);
  const Tensor ids = choices.ids(batch, length, 9);
  const Mask mask = choices.mask(ids, heads, length, dtype);
  return {fmt::format("Llama ({})", to_string(config.kind)), model, [=] { return model->forward(ids, mask); }};
}

RandomModel gpt_neox(Choices& choices, DType dtype) {
  const int64_t heads = choices.between(1, 3), batch = choices.between(1, 3), length = choices.between(1, 7);
  auto model = std::make_shared<GptNeoX>(GptNeoXConfig{.vocab = 9,
                                                       .d_model = heads * choices.one_of<int64_t>({4, 8}),
                                                       .layers = choices.between(1, 2),
                                                       .heads = heads,
                                                       .d_ff = choices.between(1, 12),
                                                       .activation = any_activation(choices),
                                                       .rotary = {.fraction = choices.one_of({0.5, 1.0})},
                                                       .parallel = choices.often(),
                                                       .attention_bias = choices.often(),
                                                       .dropout = choices.one_of({0.0, 0.3})});
  const Tensor ids = choices.ids(batch, length, 9);
  const Mask mask = choices.mask(ids, heads, length, dtype);
  return {"GptNeoX", model, [=] { return model->forward(ids, mask); }};
}

BertConfig bert_config(Choices& choices, int64_t heads) {
  return {.vocab = 9,
          .d_model = heads * choices.one_of<int64_t>({2, 4, 6}),
          .layers = choices.between(1, 2),
          .heads = heads,
          .d_ff = choices.between(1, 12),
          .max_length = 8,
          .activation = any_activation(choices),
          .dropout = choices.one_of({0.0, 0.3}),
          .norm_eps = 1e-5};
}

template <class Model, class Config>
RandomModel of_bert(Choices& choices, DType dtype, const char* name, const Config& config, int64_t heads) {
  const int64_t batch = choices.between(1, 3), length = choices.between(1, 7);
  auto model = std::make_shared<Model>(config);
  const Tensor ids = choices.ids(batch, length, 9);
  const Tensor kinds = choices.often() ? choices.ids(batch, length, 2) : Tensor();
  const Mask mask = choices.mask(ids, heads, length, dtype);
  return {name, model, [=] { return model->forward(ids, mask, kinds); }};
}

RandomModel any_model(Choices& choices, int number, DType dtype) {
  const int64_t heads = choices.between(1, 3);
  switch (number % 7) {
    case 0:
      return transformer(choices, dtype);
    case 1:
      return gpt(choices, dtype);
    case 2:
      return of_bert<Bert>(choices, dtype, "Bert", bert_config(choices, heads), heads);
    case 3:
      return llama(choices, dtype);
    case 4:
      return gpt_neox(choices, dtype);
    case 5:
      return of_bert<MaskedLanguageModel>(choices, dtype, "MaskedLanguageModel", bert_config(choices, heads), heads);
    default: {
      const SequenceClassifierConfig config{.encoder = bert_config(choices, heads),
                                            .num_labels = choices.between(1, 4)};
      return of_bert<SequenceClassifier>(choices, dtype, "SequenceClassifier", config, heads);
    }
  }
}

uint64_t seed_of_all() {
  const char* text = std::getenv("TAPEFORMER_PROPERTY_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

TEST(ComposedReference, AgreesWithFusedOperationsForRandomModelsAndMasks) {
  for (int number = 0; number < 100; ++number) {
    const uint64_t seed = 1000 * seed_of_all() + static_cast<uint64_t>(number);
    manual_seed(seed);
    Choices choices(seed);
    const DType dtype = number % 4 == 0 ? f32 : f64;
    const RandomModel run = any_model(choices, number, dtype);
    run.model->to(dtype);
    run.model->train(choices.often());
    const auto outputs = [&](bool composed) {
      manual_seed(seed);
      std::optional<Composed> scope;
      if (composed) scope.emplace();
      run.model->zero_grad();
      const Tensor y = run.forward();
      const Tensor seed_of_gradient = full(y.shape(), 0.5, dtype);
      y.backward({.gradient = seed_of_gradient});
      Tensors all{y.detach()};
      for (const Tensor& parameter : run.model->parameters()) all.push_back(parameter.grad());
      return all;
    };
    const Tensors fused = outputs(false), unfused = outputs(true);
    for (size_t i = 0; i < fused.size(); ++i) {
      ASSERT_EQ(fused[i].defined(), unfused[i].defined());
      if (!fused[i].defined()) continue;
      ASSERT_TRUE(tensors_near(fused[i], unfused[i], dtype == f32 ? 2e-4 : 1e-9))
          << fmt::format("{}, model {} of TAPEFORMER_PROPERTY_SEED={}, {}", run.name, number, seed_of_all(),
                         i ? run.model->named_parameters()[i - 1].name : "the output");
    }
  }
}

}  // namespace
}  // namespace tape::models
