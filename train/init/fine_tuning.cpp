#include "train/init/fine_tuning.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/folders/folder.h"
#include "models/folders/tokenizer_fit.h"
#include "models/sentence/sentence_parts.h"
#include "nn/adapters.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/init/trained_parameters.h"

namespace tape::train {
namespace {

using models::MaskedLanguageModel, models::SentenceEncoder, models::SequenceClassifier, models::TokenClassifier;

/// Copies values from a folder's model: all of them from a Model, the encoder's from another type.
template <class Model>
struct Take {
  PretrainedFor<Model>& to;
  const char* what;

  void operator()(const std::unique_ptr<models::EncoderModel>& model) { encoder(*model, config_of(*model)); }
  template <class M>
  void operator()(const std::unique_ptr<M>& model) {
    if constexpr (std::same_as<M, Model>)
      whole(*model);
    else if constexpr (std::same_as<M, MaskedLanguageModel>)
      encoder(*model->base, model->config());
    else if constexpr (requires {
                         { *model->base } -> std::convertible_to<const models::EncoderModel&>;
                       })
      encoder(*model->base, model->config().encoder);
    else
      raise(ErrorKind::config, "{}/config.json: describes a {}, but {} needs an encoder to start from", to.folder,
            model->type_name(), what);
  }

  void encoder(const models::EncoderModel& model, const models::EncoderConfig& config) {
    encoder_of(to.config) = config;
    to.has_pooler = model.options().pooler;
    for (const auto& [name, value] : model.state_dict())
      to.values.emplace(fmt::format("{}.{}", model.options().family, name), value);
  }
  void whole(const Model& model) {
    to.config = model.config();
    to.has_pooler = model.base->options().pooler;
    to.values = model.state_dict();
    if constexpr (requires { to.config.labels; }) to.config.labels = to.config.label_names();
  }
};

/// Reads the encoder, the head and the tokenizer; `what` names the model to train.
template <class Model>
void read(const std::string& folder, PretrainedFor<Model>& p, const char* what) {
  p.folder = folder;
  const models::AnyModel model = models::load_model(folder);
  nn::merge_adapters(models::module_of(model));
  std::visit(Take<Model>{p, what}, model);
  p.tokenizer = text::load_tokenizer(folder);
  std::visit(
      [&](auto& encoder) {
        models::check_tokenizer_fits(folder, *p.tokenizer, "vocab_size", encoder.vocab);
        // The configuration need not have this optional field.
        if (encoder.padding_id < 0) encoder.padding_id = std::max<int64_t>(p.tokenizer->special().pad, 0);
      },
      encoder_of(p.config));
}

/// A model with the folder's values where it has them, and new values for a head that is not kept.
template <class Model, class Config>
std::unique_ptr<Model> begin(const PretrainedFor<Model>& from, Config config, std::optional<double> dropout,
                             bool keep_head) {
  if (dropout) {
    std::visit([&](auto& encoder) { encoder.dropout = encoder.attention_dropout = *dropout; }, encoder_of(config));
    if constexpr (requires { config.dropout; }) config.dropout.reset();
  }
  auto model = std::make_unique<Model>(config);
  nn::StateDict values = model->state_dict();
  for (auto& [name, value] : values) {
    const auto found = from.values.find(name);
    if (found != from.values.end() && (keep_head || !name.starts_with("head."))) value = found->second;
  }
  model->load_state_dict(values);
  return model;
}

/// The same for a model with a label head.
template <class Model, class Config>
std::unique_ptr<Model> begin_with_labels(const PretrainedFor<Model>& from, Config config, const FineTuning& options) {
  const bool keep_head = from.has_head() && options.labels == from.config.labels;
  config.labels = options.labels;
  config.num_labels = std::ssize(options.labels);
  return begin<Model>(from, std::move(config), options.dropout, keep_head);
}

/// Throws Error (config) for pooling modes other than mean and first position: a classifier cannot combine vectors.
nn::Pooling pooling_of_classifier(const std::string& folder, const std::vector<models::SentencePooling>& modes) {
  using models::SentencePooling;
  if (modes == std::vector{SentencePooling::mean}) return nn::Pooling::mean;
  if (modes == std::vector{SentencePooling::cls}) return nn::Pooling::first;
  std::string named;
  for (const SentencePooling mode : modes) named += fmt::format("{}{}", named.empty() ? "" : " + ", to_string(mode));
  raise(ErrorKind::config, "{}: its pooling mode is {}, but a classifier supports only mean and cls", folder, named);
}

void choose_pooling(PretrainedClassifier& p) {
  if (p.has_head()) {
    p.pooling_reason = "from the folder's classifier";
  } else if (const auto pooling = models::read_pooling(p.folder)) {
    p.config.pooling = pooling_of_classifier(p.folder, *pooling);
    p.pooling_reason = "from 1_Pooling/config.json";
  } else {
    p.config.pooling = p.has_pooler ? nn::Pooling::first : nn::Pooling::mean;
    p.pooling_reason = p.has_pooler ? "the folder has a pooler" : "the folder has no pooler";
  }
}

}  // namespace

PretrainedClassifier read_pretrained_classifier(const std::string& folder) {
  PretrainedClassifier p;
  read<SequenceClassifier>(folder, p, "a classifier");
  p.config.problem_type.reset();  // trained with a single label per text
  choose_pooling(p);
  return p;
}

PretrainedTokenClassifier read_pretrained_token_classifier(const std::string& folder) {
  PretrainedTokenClassifier p;
  read<TokenClassifier>(folder, p, "a classifier");
  return p;
}

PretrainedMaskedLM read_pretrained_masked_lm(const std::string& folder) {
  PretrainedMaskedLM p;
  read<MaskedLanguageModel>(folder, p, "a masked language model");
  return p;
}

PretrainedSentenceEncoder read_pretrained_sentence_encoder(const std::string& folder) {
  PretrainedSentenceEncoder p;
  const models::SentenceParts parts = models::read_sentence_parts(folder);
  // Checkpoints contain only the encoder.
  if (!parts.values.empty())
    raise(ErrorKind::config, "{}/modules.json: training a Dense or LayerNorm after the pooling is not supported",
          folder);
  read<SentenceEncoder>(parts.encoder, p, "a sentence encoder");
  const models::EncoderConfig encoder = p.config.encoder;
  p.config = parts.config;
  p.config.encoder = encoder;
  p.config.normalize = true;
  return p;
}

std::unique_ptr<SequenceClassifier> make_classifier(const PretrainedClassifier& from, const FineTuning& options) {
  models::SequenceClassifierConfig config = from.config;
  config.pooling = options.pooling.value_or(config.pooling);
  return begin_with_labels<SequenceClassifier>(from, std::move(config), options);
}

std::unique_ptr<TokenClassifier> make_token_classifier(const PretrainedTokenClassifier& from,
                                                       const FineTuning& options) {
  return begin_with_labels<TokenClassifier>(from, from.config, options);
}

std::unique_ptr<MaskedLanguageModel> begin_masked_language_model(const PretrainedMaskedLM& from,
                                                                 std::optional<double> dropout) {
  return begin<MaskedLanguageModel>(from, from.config, dropout, from.has_head());
}

std::unique_ptr<SentenceEncoder> begin_sentence_encoder(const PretrainedSentenceEncoder& from,
                                                        const std::vector<models::SentencePooling>& pooling,
                                                        std::optional<double> dropout) {
  models::SentenceEncoderConfig config = from.config;
  config.pooling = pooling;
  return begin<SentenceEncoder>(from, std::move(config), dropout, false);
}

void freeze_layers(nn::Module& model, int64_t layers) {
  const LayerOrder order(model);
  if (layers < 0 || layers > order.layers())
    raise(ErrorKind::config, "freeze: layers must be from 0 to {}, got {}", order.layers(), layers);
  for (const NamedTensor& named : model.named_parameters())
    if (order.place(named.name) < layers) Tensor(named.tensor).requires_grad_(false);
}

}  // namespace tape::train
