#include "train/fine_tuning.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "models/config_reader.h"
#include "models/folder.h"
#include "models/tokenizer_fit.h"
#include "text/load_tokenizer.h"
#include "train/trained_parameters.h"

namespace tape::train {
namespace {

using models::SequenceClassifier;

/// Takes over what a model of some class holds.
struct Take {
  Pretrained& to;

  void bert(const models::Bert& model) {
    to.config.bert = model.config();
    for (const auto& [name, value] : model.state_dict()) to.values.emplace(fmt::format("bert.{}", name), value);
  }
  void operator()(const std::unique_ptr<models::Bert>& model) { bert(*model); }
  void operator()(const std::unique_ptr<models::MaskedLanguageModel>& model) { bert(*model->bert); }
  void operator()(const std::unique_ptr<SequenceClassifier>& model) {
    to.config = model->config();
    to.values = model->state_dict();
    to.config.labels = to.config.label_names();
  }
  template <class M>
  void operator()(const std::unique_ptr<M>& model) {
    raise(ErrorKind::config, "{}/config.json: holds a {}; a classifier begins with a BERT", to.folder,
          model->type_name());
  }
};

void choose_pooling(Pretrained& p) {
  const std::string file = fmt::format("{}/1_Pooling/config.json", p.folder);
  if (p.has_head()) {
    p.pooling_reason = "as the folder's classifier has it";
  } else if (std::filesystem::exists(file)) {
    const models::ConfigReader config(read_text(file), file);
    const bool mean = config.flag("pooling_mode_mean_tokens", false);
    if (mean == config.flag("pooling_mode_cls_token", false))
      raise(ErrorKind::config, "{}: either \"pooling_mode_mean_tokens\" or \"pooling_mode_cls_token\" must be true",
            file);
    p.config.pooling = mean ? nn::Pooling::mean : nn::Pooling::first;
    p.pooling_reason = "as 1_Pooling/config.json says";
  } else {
    p.config.pooling = p.config.bert.pooler ? nn::Pooling::first : nn::Pooling::mean;
    p.pooling_reason = p.config.bert.pooler ? "the folder has a pooler" : "the folder has no pooler";
  }
}

}  // namespace

Pretrained read_pretrained(const std::string& folder) {
  Pretrained p;
  p.folder = folder;
  const models::AnyModel model = models::load_model(folder);
  std::visit(Take{p}, model);
  choose_pooling(p);
  p.tokenizer = text::load_tokenizer(folder);
  models::check_tokenizer_fits(folder, *p.tokenizer, "vocab_size", p.config.bert.vocab);
  // A configuration need not name it.
  if (p.config.bert.padding_id < 0) p.config.bert.padding_id = std::max<int64_t>(p.tokenizer->special().pad, 0);
  return p;
}

std::unique_ptr<SequenceClassifier> begin_classifier(const Pretrained& from, const FineTuning& options) {
  models::SequenceClassifierConfig config = from.config;
  const bool keep_head = from.has_head() && options.labels == from.config.labels;
  config.labels = options.labels;
  config.num_labels = std::ssize(options.labels);
  config.pooling = options.pooling.value_or(config.pooling);
  if (options.dropout) {
    config.bert.dropout = config.bert.attention_dropout = *options.dropout;
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
  const int64_t all = model.config().bert.layers;
  if (layers < 0 || layers > all) raise(ErrorKind::config, "freeze: layers must be 0 to {}, got {}", all, layers);
  const LayerOrder order(model);
  for (const NamedTensor& named : model.named_parameters())
    if (order.place(named.name) < layers) Tensor(named.tensor).requires_grad_(false);
}

}  // namespace tape::train
