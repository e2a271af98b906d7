#include "models/bert.h"

#include "autograd/create.h"
#include "base/check.h"
#include "nn/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

const nn::ModuleCheck bert_check("Bert", "small", [](const nn::Checker& check) {
  Bert model(detail::small_bert());
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});
const nn::ModuleCheck masked_check("MaskedLanguageModel", "small", [](const nn::Checker& check) {
  MaskedLanguageModel model(detail::small_bert());
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

const BertConfig& checked(const BertConfig& c) {
  check_at_least_one("Bert", {{"vocab", c.vocab},
                              {"d_model", c.d_model},
                              {"layers", c.layers},
                              {"heads", c.heads},
                              {"d_ff", c.d_ff},
                              {"max_length", c.max_length}});
  return c;
}

nn::EmbeddingsOptions embeddings_of(const BertConfig& c) {
  nn::EmbeddingsOptions options{.vocab = c.vocab,
                                .d_model = c.d_model,
                                .max_length = c.max_length,
                                .segments = c.segments,
                                .norm_eps = c.norm_eps,
                                .dropout = c.dropout};
  if (c.padding_id >= 0 && c.padding_id < c.vocab) options.padding_index = c.padding_id;
  return options;
}

nn::TransformerLayerOptions layers_of(const BertConfig& c) {
  return {.d_model = c.d_model,
          .heads = c.heads,
          .d_ff = c.d_ff,
          .dropout = c.dropout,
          .activation = c.activation,
          .norm = nn::NormPlace::post,
          .norm_eps = c.norm_eps,
          .attention_dropout = c.attention_dropout,
          .activation_dropout = 0};
}

BertConfig without_pooler(BertConfig config) {
  config.pooler = false;
  return config;
}

}  // namespace

Bert::Bert(const BertConfig& c)
    : embeddings(this, "embeddings", embeddings_of(checked(c))),
      encoder(this, "encoder", c.layers, layers_of(c)),
      pooler(c.pooler ? std::make_unique<nn::Child<nn::Pooler>>(this, "pooler", c.d_model) : nullptr),
      config_(c) {
  nn::init::start_normal(*this, c.init_std);
}

Tensor Bert::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  return encoder(embeddings(ids, segments), mask);
}

Tensor Bert::forward(const Tensor& ids) { return forward(ids, Mask::padding(ids, config_.padding_id)); }

Tensor Bert::pool(const Tensor& hidden) {
  if (!pooler) raise(ErrorKind::config, "Bert: this model has no pooler");
  return (*pooler)(hidden);
}

std::string Bert::settings() const { return fmt::format("{} ids, width {}", config_.vocab, config_.d_model); }

MaskedLanguageModel::MaskedLanguageModel(const BertConfig& c)
    : bert(this, "bert", without_pooler(c)),
      head(this, "head", c.d_model, c.vocab,
           nn::MaskedTokenHeadOptions{.activation = c.activation, .norm_eps = c.norm_eps}) {
  nn::init::start_normal(*head, c.init_std);
  head->decoder->weight = bert->embeddings->token->weight;
}

Tensor MaskedLanguageModel::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  return head(bert(ids, mask, segments));
}

Tensor MaskedLanguageModel::forward(const Tensor& ids) { return forward(ids, Mask::padding(ids, config().padding_id)); }

BertConfig detail::small_bert() {
  return {.vocab = 6,
          .d_model = 4,
          .layers = 1,
          .heads = 2,
          .d_ff = 5,
          .max_length = 3,
          .padding_id = 5,
          .pooler = false,
          .init_std = 0.5};
}

}  // namespace tape::models
