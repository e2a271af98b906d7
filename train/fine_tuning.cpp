#include "train/fine_tuning.h"

#include "base/error.h"
#include "models/folder.h"
#include "models/sentence_encoder.h"
#include "models/tokenizer_fit.h"
#include "text/load_tokenizer.h"
#include "train/trained_parameters.h"

namespace tape::train {
namespace {

using models::SequenceClassifier;

/// Takes over what a model of some class holds.
struct Take {
  Pretrained& to;
  const char* what;

  void encoder(const models::EncoderModel& model, const models::EncoderConfig& config) {
    to.config.encoder = config;
    to.has_pooler = model.options().pooler;
    for (const auto& [name, value] : model.state_dict())
      to.values.emplace(fmt::format("{}.{}", model.options().family, name), value);
  }
  template <std::derived_from<models::EncoderModel> M>
  void operator()(const std::unique_ptr<M>& model) {
    encoder(*model, model->config());
  }
  void operator()(const std::unique_ptr<models::MaskedLanguageModel>& model) {
    to.config.encoder = model->config();
    to.values = model->state_dict();
  }
  void operator()(const std::unique_ptr<SequenceClassifier>& model) {
    to.config = model->config();
    to.config.problem_type.reset();  // one label is right
    to.has_pooler = model->base->options().pooler;
    to.values = model->state_dict();
    to.config.labels = to.config.label_names();
  }
  template <class M>
  void operator()(const std::unique_ptr<M>& model) {
    raise(ErrorKind::config, "{}/config.json: holds a {}; {} begins with an encoder", to.folder, model->type_name(),
          what);
  }
};

void choose_pooling(Pretrained& p) {
  if (p.has_head()) {
    p.pooling_reason = "as the folder's classifier has it";
  } else if (const auto pooling = models::read_pooling(p.folder)) {
    p.config.pooling = *pooling;
    p.has_pooling_file = true;
    p.pooling_reason = "as 1_Pooling/config.json says";
  } else {
    p.config.pooling = p.has_pooler ? nn::Pooling::first : nn::Pooling::mean;
    p.pooling_reason = p.has_pooler ? "the folder has a pooler" : "the folder has no pooler";
  }
}

models::EncoderConfig with_dropout(models::EncoderConfig config, std::optional<double> dropout) {
  if (dropout) std::visit([&](auto& encoder) { encoder.dropout = encoder.attention_dropout = *dropout; }, config);
  return config;
}

/// Gives the model what of its values is there, where `take` says so of the name.
template <class Take>
void fill(nn::Module& model, const nn::StateDict& from, Take&& take) {
  nn::StateDict values = model.state_dict();
  for (auto& [name, value] : values)
    if (const auto found = from.find(name); found != from.end() && take(name)) value = found->second;
  model.load_state_dict(values);
}

bool is_of_head(const std::string& name) { return name.starts_with("head."); }

}  // namespace

Pretrained read_pretrained(const std::string& folder, const char* what) {
  Pretrained p;
  p.folder = folder;
  const models::AnyModel model = models::load_model(folder);
  std::visit(Take{p, what}, model);
  choose_pooling(p);
  p.tokenizer = text::load_tokenizer(folder);
  std::visit(
      [&](auto& encoder) {
        models::check_tokenizer_fits(folder, *p.tokenizer, "vocab_size", encoder.vocab);
        // A configuration need not name it.
        if (encoder.padding_id < 0) encoder.padding_id = std::max<int64_t>(p.tokenizer->special().pad, 0);
      },
      p.config.encoder);
  return p;
}

std::unique_ptr<SequenceClassifier> begin_classifier(const Pretrained& from, const FineTuning& options) {
  models::SequenceClassifierConfig config = from.config;
  const bool keep_head = from.has_head() && options.labels == from.config.labels;
  config.labels = options.labels;
  config.num_labels = std::ssize(options.labels);
  config.pooling = options.pooling.value_or(config.pooling);
  config.encoder = with_dropout(config.encoder, options.dropout);
  if (options.dropout) config.dropout.reset();
  auto model = std::make_unique<SequenceClassifier>(config);
  fill(*model, from.values, [&](const std::string& name) { return keep_head || !is_of_head(name); });
  return model;
}

std::unique_ptr<models::SentenceEncoder> begin_sentence_encoder(const Pretrained& from, nn::Pooling pooling,
                                                                std::optional<double> dropout) {
  auto model = std::make_unique<models::SentenceEncoder>(
      models::SentenceEncoderConfig{.encoder = with_dropout(from.config.encoder, dropout), .pooling = pooling});
  fill(*model, from.values, [](const std::string&) { return true; });
  return model;
}

std::unique_ptr<models::MaskedLanguageModel> begin_masked_language_model(const Pretrained& from,
                                                                         std::optional<double> dropout) {
  auto model = std::make_unique<models::MaskedLanguageModel>(with_dropout(from.config.encoder, dropout));
  fill(*model, from.values, [&](const std::string& name) { return from.has_masked_head() || !is_of_head(name); });
  return model;
}

void freeze_layers(nn::Module& model, int64_t layers) {
  const LayerOrder order(model);
  const int64_t all = order.layers();
  if (layers < 0 || layers > all) raise(ErrorKind::config, "freeze: layers must be 0 to {}, got {}", all, layers);
  for (const NamedTensor& named : model.named_parameters())
    if (order.place(named.name) < layers) Tensor(named.tensor).requires_grad_(false);
}

}  // namespace tape::train
