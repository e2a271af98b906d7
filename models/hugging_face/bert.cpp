#include "models/hugging_face/bert.h"

#include <set>

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

template <class Config, class Visit>
void visit_bert_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("hidden_size", c.d_model);
  visit("num_hidden_layers", c.layers);
  visit("num_attention_heads", c.heads);
  visit("intermediate_size", c.d_ff);
  visit("max_position_embeddings", c.max_length);
  visit("type_vocab_size", c.segments);
  visit("hidden_act", c.activation);
  visit("hidden_dropout_prob", c.dropout);
  visit("attention_probs_dropout_prob", c.attention_dropout);
  visit("layer_norm_eps", c.norm_eps);
  visit("initializer_range", c.init_std);
  visit("pad_token_id", c.padding_id);
}

Json bert_json(const BertConfig& c, const char* architecture, DType dtype) {
  if (c.segments < 1) raise(ErrorKind::config, "config.json: {} needs segments, got {}", architecture, c.segments);
  Json json = begin_config(architecture, "bert", dtype);
  visit_bert_keys(c, WriteKeys{json});
  json.update({{"tie_word_embeddings", true}, {"position_embedding_type", "absolute"}});
  return json;
}

/// Embeddings and encoder, under the prefixes that both sides give them.
void add_bert(Layout& layout, const BertConfig& c, const std::string& ours, const std::string& theirs) {
  const int64_t width = c.d_model;
  const auto both = [&](auto&& add, const char* own, const std::string& their, auto... sizes) {
    (layout.*add)(fmt::format("{}{}", ours, own), fmt::format("{}{}", theirs, their), sizes...);
  };
  both(&Layout::tensor, "embeddings.token.weight", "embeddings.word_embeddings.weight", Shape{c.vocab, width});
  both(&Layout::tensor, "embeddings.position.weight", "embeddings.position_embeddings.weight",
       Shape{c.max_length, width});
  if (c.segments > 0)
    both(&Layout::tensor, "embeddings.segment.weight", "embeddings.token_type_embeddings.weight",
         Shape{c.segments, width});
  both(&Layout::norm, "embeddings.norm", "embeddings.LayerNorm", width);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string own = fmt::format("{}encoder.layers.{}.", ours, i);
    const std::string their = fmt::format("{}encoder.layer.{}.", theirs, i);
    const auto linear = [&](const char* a, const char* b, int64_t in, int64_t out) {
      layout.linear(fmt::format("{}{}", own, a), fmt::format("{}{}", their, b), in, out);
    };
    linear("self_attention.query", "attention.self.query", width, width);
    linear("self_attention.key", "attention.self.key", width, width);
    linear("self_attention.value", "attention.self.value", width, width);
    linear("self_attention.output", "attention.output.dense", width, width);
    linear("feed_forward.linear1", "intermediate.dense", width, c.d_ff);
    linear("feed_forward.linear2", "output.dense", c.d_ff, width);
    layout.norm(fmt::format("{}norm1", own), fmt::format("{}attention.output.LayerNorm", their), width);
    layout.norm(fmt::format("{}norm2", own), fmt::format("{}output.LayerNorm", their), width);
  }
  if (c.pooler) both(&Layout::linear, "pooler.dense", "pooler.dense", width, width, true);
  layout.ignore("embeddings.position_ids");
  layout.ignore("cls.seq_relationship.");  // the sentence-pair task of BERT's own training
}

}  // namespace

BertConfig read_bert_config(const ConfigReader& config) {
  if (config.text("position_embedding_type", "absolute") != "absolute")
    config.wrong("position_embedding_type", "\"absolute\"");
  config.require_flag("is_decoder", false, false);
  config.require_flag("add_cross_attention", false, false);
  BertConfig c{.padding_id = -1};
  visit_bert_keys(c, ReadKeys{config});
  return c;
}

SequenceClassifierConfig read_classifier_config(const ConfigReader& config, nn::Pooling pooling) {
  SequenceClassifierConfig c{.bert = read_bert_config(config), .pooling = pooling};
  c.bert.pooler = pooling == nn::Pooling::first;
  c.labels = config.names("id2label");
  c.num_labels = config.whole("num_labels", c.labels.empty() ? 2 : std::ssize(c.labels));
  if (config.has("classifier_dropout")) c.dropout = config.number("classifier_dropout");
  if (config.has("problem_type") && config.text("problem_type") != "single_label_classification")
    config.wrong("problem_type", "\"single_label_classification\"");
  return c;
}

Json config_json(const Bert& model, DType dtype) { return bert_json(model.config(), "BertModel", dtype); }

Json config_json(const MaskedLanguageModel& model, DType dtype) {
  return bert_json(model.config(), "BertForMaskedLM", dtype);
}

Json config_json(const SequenceClassifier& model, DType dtype) {
  const SequenceClassifierConfig& c = model.config();
  const bool mean = c.pooling == nn::Pooling::mean;
  Json json = bert_json(c.bert, mean ? kMeanClassifier : "BertForSequenceClassification", dtype);
  if (mean) json["model_type"] = kMeanClassifierType;
  json["classifier_dropout"] = c.dropout ? Json(*c.dropout) : Json();
  Json ids = Json::object(), names = Json::object();
  for (const std::string& name : c.label_names()) {
    const auto id = static_cast<int64_t>(names.size());
    names[fmt::format("{}", id)] = name;
    ids[name] = id;
  }
  json["id2label"] = names;
  json["label2id"] = ids;
  return json;
}

Layout bert_layout(const BertConfig& config) {
  Layout layout;
  add_bert(layout, config, "", "");
  return layout;
}

Layout masked_language_model_layout(const BertConfig& config) {
  Layout layout;
  BertConfig without = config;
  without.pooler = false;
  add_bert(layout, without, "bert.", "bert.");
  layout.linear("head.dense", "cls.predictions.transform.dense", config.d_model, config.d_model);
  layout.norm("head.norm", "cls.predictions.transform.LayerNorm", config.d_model);
  layout.tensor("head.decoder.bias", "cls.predictions.bias", {config.vocab});
  layout.copy("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight");
  layout.copy("cls.predictions.decoder.bias", "cls.predictions.bias");
  layout.ignore("bert.pooler.");
  return layout;
}

Layout classifier_layout(const SequenceClassifierConfig& config) {
  Layout layout;
  add_bert(layout, config.bert, "bert.", "bert.");
  layout.linear("head.classifier", "classifier", config.bert.d_model, config.num_labels);
  return layout;
}

std::map<std::string, Tensor> with_new_names(std::map<std::string, Tensor> tensors) {
  std::map<std::string, Tensor> renamed;
  for (auto& [name, tensor] : tensors) {
    std::string now = name;
    if (name.ends_with("LayerNorm.gamma")) now = fmt::format("{}weight", name.substr(0, name.size() - 5));
    if (name.ends_with("LayerNorm.beta")) now = fmt::format("{}bias", name.substr(0, name.size() - 4));
    // Both at once: the second is left where it is, and reported as unexpected.
    renamed.emplace(renamed.contains(now) ? name : now, std::move(tensor));
  }
  return renamed;
}

}  // namespace tape::models::hugging_face
