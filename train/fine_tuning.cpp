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
  void operator()(const std::unique_ptr<models::MaskedLanguageModel>& model) { encoder(*model->base, model->config()); }
  void operator()(const std::unique_ptr<SequenceClassifier>& model) {
    to.config = model->config();
    to.config.problem_type.reset();  // one label is right
    to.has_pooler = model->base->options().pooler;
    to.values = model->state_dict();
    to.config.labels = to.config.label_names();
  }
  template <class M>
  void operator()(const std::unique_ptr<M>& model) {
    raise(ErrorKind::config, "{}/config.json: holds a {}; a classifier begins with an encoder", to.folder,
          model->type_name());
  }
};

void choose_pooling(Pretrained& p) {
  if (p.has_head()) {
    p.pooling_reason = "as the folder's classifier has it";
  } else if (const auto pooling = models::read_pooling(p.folder)) {
    p.config.pooling = *pooling;
    p.pooling_reason = "as 1_Pooling/config.json says";
  } else {
    p.config.pooling = p.has_pooler ? nn::Pooling::first : nn::Pooling::mean;
    p.pooling_reason = p.has_pooler ? "the folder has a pooler" : "the folder has no pooler";
  }
}

int64_t layers_of(const SequenceClassifier& model) { return model.base->encoder->layers.size(); }

}  // namespace

Pretrained read_pretrained(const std::string& folder) {
  Pretrained p;
  p.folder = folder;
  const models::AnyModel model = models::load_model(folder);
  std::visit(Take{p}, model);
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
  if (options.dropout) {
    std::visit([&](auto& encoder) { encoder.dropout = encoder.attention_dropout = *options.dropout; }, config.encoder);
    config.dropout.reset();
  }
  auto model = std::make_unique<SequenceClassifier>(config);
  nn::StateDict values = model->state_dict();
  for (auto& [name, value] : values) {
    const auto found = from.values.find(name);
    if (found != from.values.end() && (keep_head || !name.starts_with("head."))) value = found->second;
  }
  model->load_state_dict(values);
  return model;
}

void freeze_layers(SequenceClassifier& model, int64_t layers) {
  const int64_t all = layers_of(model);
  if (layers < 0 || layers > all) raise(ErrorKind::config, "freeze: layers must be 0 to {}, got {}", all, layers);
  const LayerOrder order(model);
  for (const NamedTensor& named : model.named_parameters())
    if (order.place(named.name) < layers) Tensor(named.tensor).requires_grad_(false);
}

}  // namespace tape::train
