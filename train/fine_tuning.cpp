#include "train/fine_tuning.h"

#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "models/config_reader.h"
#include "models/folder.h"
#include "models/tokenizer_fit.h"
#include "text/load_tokenizer.h"

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

/// The layer that a parameter of the encoder belongs to: "bert.encoder.layers.3.norm1.weight" is of layer 3; -1 for the
/// embeddings, `layers` for what stands behind the encoder.
int64_t layer_of(const std::string& name, int64_t layers) {
  constexpr std::string_view kLayers = "bert.encoder.layers.";
  if (name.starts_with("bert.embeddings.")) return -1;
  if (!name.starts_with(kLayers)) return layers;
  int64_t layer = layers;
  std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
  return layer;
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
  for (const NamedTensor& named : model.named_parameters())
    if (layer_of(named.name, all) < layers) Tensor(named.tensor).requires_grad_(false);
}

optim::ParameterGroups layer_groups(const SequenceClassifier& model, double decay) {
  if (!(decay > 0 && decay <= 1))
    raise(ErrorKind::config, "layer_decay must be greater than 0 and at most 1, got {}", decay);
  const int64_t layers = model.config().bert.layers;
  std::vector<optim::ParameterGroup> decayed(static_cast<size_t>(layers) + 2), plain(decayed.size());
  for (const NamedTensor& named : model.named_parameters()) {
    if (!named.tensor.requires_grad()) continue;
    const auto place = static_cast<size_t>(layer_of(named.name, layers) + 1);
    (named.tensor.rank() > 1 ? decayed : plain)[place].parameters.push_back(named.tensor);
  }
  optim::ParameterGroups groups;
  for (size_t place = 0; place < decayed.size(); ++place) {
    const auto below = std::max<int64_t>(layers - static_cast<int64_t>(place), 0);
    plain[place].weight_decay = 0;
    for (optim::ParameterGroup* group : {&decayed[place], &plain[place]}) {
      group->lr_factor = std::pow(decay, static_cast<double>(below));
      if (!group->parameters.empty()) groups.push_back(std::move(*group));
    }
  }
  return groups;
}

}  // namespace tape::train
