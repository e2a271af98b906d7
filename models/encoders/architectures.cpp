#include "models/encoders/architectures.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/families.h"

namespace tape::models::hugging_face {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<EncoderHead, const char*>, 5> kSuffixes{
    {{EncoderHead::none, "Model"},
     {EncoderHead::masked_token, "ForMaskedLM"},
     {EncoderHead::sequence, "ForSequenceClassification"},
     {EncoderHead::token, "ForTokenClassification"},
     {EncoderHead::span, "ForQuestionAnswering"}}};

std::string architecture_name(const EncoderFamily& family, EncoderHead head) {
  const auto suffix = std::ranges::find(kSuffixes, head, [](const auto& row) { return row.first; });
  return fmt::format("{}{}", family.stem, suffix->second);
}

/// Configuration of a SequenceClassifier's base: only BERT's head reads the pooler. Computed without model_options(),
/// which would allocate an entry for each configured layer before the count is checked against the file.
EncoderConfig base_of_classifier(const SequenceClassifierConfig& c) {
  return with_pooler(c.encoder, std::holds_alternative<BertConfig>(c.encoder) && c.pooling == nn::Pooling::first);
}

std::optional<double> read_dropout(const ConfigReader& config, const HeadNames& names) {
  return config.has(names.dropout_key) ? std::optional(config.number(names.dropout_key)) : std::nullopt;
}

void write_dropout(Json& json, const std::optional<double>& dropout, const HeadNames& names) {
  // In some families this is also the encoder's key.
  if (dropout || !json.contains(names.dropout_key)) json[names.dropout_key] = dropout ? Json(*dropout) : Json();
}

/// Layout of the encoder in a model with a head.
Layout base_layout(const EncoderConfig& base, const EncoderModelOptions& parts) {
  const EncoderFamily& family = family_of(base);
  Layout layout;
  {
    const Layout::Scope encoder(layout, fmt::format("{}.", parts.family), family.prefix);
    family.add_encoder(layout, base);
  }
  return layout;
}

/// Layout of an encoder with a classification head.
Layout with_head(const EncoderConfig& base, const HeadNames& names, const nn::ClassificationHeadOptions& head,
                 int64_t num_labels) {
  const EncoderModelOptions parts = model_options(base);
  const int64_t width = parts.d_model;
  Layout layout = base_layout(base, parts);
  if (head.activation) layout.linear("head.dense", names.dense, width, width, head.dense_bias);
  if (head.activation && head.norm_eps) layout.norm("head.norm", names.norm, width, head.norm_bias);
  layout.linear("head.classifier", names.classifier, width, num_labels);
  return layout;
}

}  // namespace

const EncoderFamily& family_of(const EncoderConfig& config) {
  const std::vector<const EncoderFamily*> families = encoder_families();
  const auto found = std::ranges::find_if(families, [&](const EncoderFamily* f) { return f->has(config); });
  TAPE_ASSERT(found != families.end());
  return **found;
}

std::optional<EncoderArchitecture> encoder_architecture(const std::string& name, const ConfigReader& config) {
  if (name == kMeanClassifier) {
    const std::string type = config.text("encoder_type", bert_family().model_type);
    for (const EncoderFamily* family : encoder_families())
      if (type == family->model_type) return EncoderArchitecture{family, EncoderHead::sequence, nn::Pooling::mean};
    config.wrong("encoder_type", "the model_type of an encoder");
  }
  for (const EncoderFamily* family : encoder_families())
    for (const auto& [head, suffix] : kSuffixes)
      if (name == architecture_name(*family, head)) return EncoderArchitecture{family, head};
  return std::nullopt;
}

std::optional<EncoderArchitecture> encoder_of_type(const std::string& model_type) {
  for (const EncoderFamily* family : encoder_families())
    if (model_type == family->model_type) return EncoderArchitecture{family, EncoderHead::masked_token};
  return std::nullopt;
}

std::optional<EncoderArchitecture> encoder_architecture(const ConfigReader& config) {
  const std::vector<std::string> names = config.names("architectures");
  if (!names.empty()) return encoder_architecture(names.front(), config);
  const std::string type = config.text("model_type", "");
  return type == kMeanClassifierType ? encoder_architecture(kMeanClassifier, config) : encoder_of_type(type);
}

std::string encoder_architectures() {
  const auto listed = [](const auto& rows, auto&& name_of, const char* last) {
    std::string list;
    for (size_t i = 0; i < rows.size(); ++i)
      list += fmt::format("{}{}", i == 0 ? "" : i + 1 == rows.size() ? last : ", ", name_of(rows[i]));
    return list;
  };
  return fmt::format("{}, each as {}",
                     listed(
                         encoder_families(), [](const EncoderFamily* f) { return f->stem; }, " and "),
                     listed(
                         kSuffixes, [](const auto& row) { return row.second; }, " or "));
}

EncoderConfig read_encoder(const EncoderArchitecture& architecture, const ConfigReader& config) {
  const EncoderConfig read = architecture.family->read(config);
  check_supported(config);
  return architecture.head == EncoderHead::none ? read : with_pooler(read, false);
}

SequenceClassifierConfig read_sequence_classifier(const EncoderArchitecture& architecture, const ConfigReader& config) {
  SequenceClassifierConfig c{.encoder = read_encoder(architecture, config), .pooling = architecture.pooling};
  if (const char* key = architecture.family->pooling_key) {
    const std::string pooling = config.text(key, "cls");
    if (pooling != "cls" && pooling != "mean") config.wrong(key, "\"cls\" or \"mean\"");
    c.pooling = pooling == "mean" ? nn::Pooling::mean : nn::Pooling::first;
  }
  c.encoder = base_of_classifier(c);
  read_labels(c, config);
  c.dropout = read_dropout(config, architecture.family->sequence);
  c.problem_type = read_problem_type(config);
  return c;
}

TokenClassifierConfig read_token_classifier(const EncoderArchitecture& architecture, const ConfigReader& config) {
  TokenClassifierConfig c{.encoder = read_encoder(architecture, config)};
  read_labels(c, config);
  c.dropout = read_dropout(config, architecture.family->token);
  return c;
}

QuestionAnswererConfig read_question_answerer(const EncoderArchitecture& architecture, const ConfigReader& config) {
  return {.encoder = read_encoder(architecture, config), .dropout = read_dropout(config, architecture.family->span)};
}

Json encoder_json(const EncoderConfig& config, EncoderHead head, DType dtype) {
  const EncoderFamily& family = family_of(config);
  Json json = begin_config(architecture_name(family, head), family.model_type, dtype);
  family.write(json, config);
  return json;
}

Json config_json(const MaskedLanguageModel& model, DType dtype) {
  return encoder_json(model.config(), EncoderHead::masked_token, dtype);
}

Json config_json(const SequenceClassifier& model, DType dtype) {
  const SequenceClassifierConfig& c = model.config();
  Json json = encoder_json(c.encoder, EncoderHead::sequence, dtype);
  if (const char* key = family_of(c.encoder).pooling_key) {
    json[key] = c.pooling == nn::Pooling::mean ? "mean" : "cls";
  } else if (c.pooling == nn::Pooling::mean) {
    json["architectures"] = {kMeanClassifier};
    json["encoder_type"] = json["model_type"];
    json["model_type"] = kMeanClassifierType;
  }
  write_dropout(json, c.dropout, family_of(c.encoder).sequence);
  write_problem_type(json, c.problem_type);
  write_labels(json, c.label_names());
  return json;
}

Json config_json(const TokenClassifier& model, DType dtype) {
  const TokenClassifierConfig& c = model.config();
  Json json = encoder_json(c.encoder, EncoderHead::token, dtype);
  write_dropout(json, c.dropout, family_of(c.encoder).token);
  write_labels(json, c.label_names());
  return json;
}

Json config_json(const QuestionAnswerer& model, DType dtype) {
  const QuestionAnswererConfig& c = model.config();
  Json json = encoder_json(c.encoder, EncoderHead::span, dtype);
  if (c.dropout) write_dropout(json, c.dropout, family_of(c.encoder).span);
  return json;
}

Layout encoder_layout(const EncoderConfig& config) {
  Layout layout;
  family_of(config).add_encoder(layout, config);
  return layout;
}

Layout masked_language_model_layout(const EncoderConfig& config) {
  const EncoderFamily& family = family_of(config);
  const EncoderConfig base = with_pooler(config, false);
  const EncoderModelOptions parts = model_options(base);
  const nn::MaskedTokenHeadOptions& head = parts.masked_token;
  const MaskedHeadNames names = family.masked_token(base);
  const int64_t width = parts.d_model;
  Layout layout = base_layout(base, parts);
  layout.linear("head.dense", names.dense, width, width, head.dense_bias);
  layout.norm("head.norm", names.norm, width, head.norm_bias.value_or(head.dense_bias));
  if (head.decoder_bias.value_or(head.dense_bias)) layout.tensor("head.decoder.bias", names.bias, {parts.vocab});
  if (names.weight_copy) layout.copy(names.weight_copy, fmt::format("{}{}", family.prefix, family.table));
  if (names.bias_copy) layout.copy(names.bias_copy, names.bias);
  return layout;
}

Layout headed_layout(const SequenceClassifierConfig& c) {
  return with_head(base_of_classifier(c), family_of(c.encoder).sequence, model_options(c.encoder).sequence,
                   c.num_labels);
}

Layout headed_layout(const TokenClassifierConfig& c) {
  return with_head(with_pooler(c.encoder, false), family_of(c.encoder).token, model_options(c.encoder).token,
                   c.num_labels);
}

Layout headed_layout(const QuestionAnswererConfig& c) {
  return with_head(with_pooler(c.encoder, false), family_of(c.encoder).span, model_options(c.encoder).span, 2);
}

std::map<std::string, Tensor> rename_legacy_tensors(std::map<std::string, Tensor> tensors) {
  std::map<std::string, Tensor> renamed;
  for (auto& [name, tensor] : tensors) {
    std::string now = name;
    if (name.ends_with("LayerNorm.gamma")) now = fmt::format("{}weight", name.substr(0, name.size() - 5));
    if (name.ends_with("LayerNorm.beta")) now = fmt::format("{}bias", name.substr(0, name.size() - 4));
    // If both names are present, the old one is left and reported as unexpected.
    renamed.emplace(renamed.contains(now) ? name : now, std::move(tensor));
  }
  return renamed;
}

}  // namespace tape::models::hugging_face
