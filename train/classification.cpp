#include "train/classification.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <ostream>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss.h"
#include "models/classify.h"
#include "text/byte_level_bpe.h"
#include "text/train_byte_level_bpe.h"
#include "train/classifier_recipe.h"
#include "train/confusion.h"
#include "train/fair_sample.h"
#include "train/fine_tuning.h"
#include "train/labelled_lines.h"
#include "train/model_memory.h"
#include "train/settings.h"
#include "train/task_run.h"

namespace tape::train {
namespace {

/// A byte-level BPE of the lines that can pad, as GPT-2's has no token for it.
std::unique_ptr<text::ByteLevelBpe> train_tokenizer(const std::vector<std::string>& lines, int64_t vocab_size) {
  const std::string end = "<|endoftext|>", pad = "<|pad|>";
  const auto learned = text::train_byte_level_bpe(lines, {.vocab_size = vocab_size, .special_tokens = {end, pad}});
  std::vector<int64_t> ids(static_cast<size_t>(learned->vocab_size()));
  std::iota(ids.begin(), ids.end(), 0);
  return std::make_unique<text::ByteLevelBpe>(
      learned->tokens(ids), learned->merges(),
      text::ByteLevelBpeOptions{.bos = end, .eos = end, .unk = end, .pad = pad});
}

const char* name_of(nn::Pooling pooling) { return pooling == nn::Pooling::mean ? "mean" : "first"; }

/// Everything of a run but its loop.
class ClassificationTask : public TaskRun<LabelledBatch, models::SequenceClassifier, text::Tokenizer> {
 public:
  ClassificationTask(const ClassificationOptions& options, const RunFolder* folder, std::ostream& out)
      : TaskRun("classification", options.run, out), options_(options), preset_(classifier_preset(options)) {
    if (!options.init.empty()) pretrained_ = read_pretrained(options.init);
    read_lines();
    take_tokenizer(folder, [this] { return make_tokenizer(); });
    train_ = encode(train_lines_, options.data);
    valid_ = encode(valid_lines_, options.valid.empty() ? options.data : options.valid);
    const auto plan = [this](int64_t epoch) {
      return text::plan_batches(train_.lengths, batching(), options_.run.seed, epoch).batches;
    };
    std::optional<double> dropout;
    if (pretrained_)
      dropout = std::visit([](const auto& encoder) { return encoder.dropout; }, pretrained_->config.encoder);
    recipe_ = classifier_recipe(preset_, options, std::ssize(plan(0)), dropout);
    manual_seed(options.run.seed);
    make_model();
    make_adam();
    schedule_ = std::make_unique<optim::LinearSchedule>(
        *adam_, optim::LinearOptions{.warmup = recipe_.warmup, .total = recipe_.steps});
    loader_ = std::make_unique<Loader<LabelledBatch>>(
        LoaderOptions<LabelledBatch>{.plan = plan, .collate = [this](const std::vector<int64_t>& which) {
                                       return collate_labelled(train_, which, model_->base->options().padding_id);
                                     }});
    print_sizes(std::ssize(plan(0)));
  }
  ~ClassificationTask() override { stop_loading(); }

 private:
  void read_lines() {
    const bool keep_labels = pretrained_ && pretrained_->has_head() && !options_.new_head;
    train_lines_ = keep_labels ? read_with_labels_of_init() : read_file(options_.data);
    if (std::ranges::adjacent_find(train_lines_.labels, std::not_equal_to<>()) == train_lines_.labels.end())
      raise(ErrorKind::config, "{}: all {} lines have the label \"{}\"; a classifier needs at least two", options_.data,
            train_lines_.size(), train_lines_.label_names[static_cast<size_t>(train_lines_.labels.front())]);
    print_notes(train_lines_.notes);
    if (options_.valid.empty()) {
      valid_lines_ = take_part(train_lines_, options_.valid_fraction.value_or(0.1), options_.run.seed, options_.data);
    } else {
      valid_lines_ = read_file(options_.valid, train_lines_.label_names);
      print_notes(valid_lines_.notes);
    }
  }

  text::LabelledCorpus read_file(const std::string& file, text::LabelNames label_names = {}) const {
    return options_.records ? text::read_labelled_records(file, *options_.records, options_.fields, label_names)
                            : text::read_labelled(file, options_.format, label_names);
  }

  text::LabelledCorpus read_with_labels_of_init() const {
    try {
      return read_file(options_.data, pretrained_->config.labels);
    } catch (const Error& error) {
      const text::LabelledCorpus own = read_file(options_.data);
      raise(error.kind(), "{}, the labels of {}; a new head would learn those of the file", error.what(),
            options_.init);
    }
  }

  int64_t vocab_size() const { return options_.vocab_size.value_or(preset_.vocab_size); }

  std::unique_ptr<text::Tokenizer> make_tokenizer() {
    if (pretrained_) return std::move(pretrained_->tokenizer);
    return train_tokenizer(train_lines_.sentences, vocab_size());
  }

  void make_model() {
    const TaskOptions& run = options_.run;
    if (pretrained_) {
      model_ = begin_classifier(
          *pretrained_, {.labels = train_lines_.label_names, .pooling = options_.pooling, .dropout = run.dropout});
      if (options_.freeze) freeze_layers(*model_, *options_.freeze);
      pretrained_->values.clear();
      return;
    }
    const models::SequenceClassifierConfig config = scratch_config();
    check_memory("train classifier", parameter_count(config));
    model_ = std::make_unique<models::SequenceClassifier>(config);
  }

  models::SequenceClassifierConfig scratch_config() const {
    const int64_t width = options_.width.value_or(preset_.width);
    return {.encoder = models::BertConfig{.vocab = tokenizer_->vocab_size(),
                                          .d_model = width,
                                          .layers = options_.layers.value_or(preset_.layers),
                                          .heads = options_.heads.value_or(preset_.heads),
                                          .d_ff = 4 * width,
                                          .max_length = max_length(),
                                          .segments = 1,
                                          .dropout = recipe_.dropout,
                                          .attention_dropout = recipe_.dropout,
                                          .padding_id = tokenizer_->special().pad},
            .num_labels = std::ssize(train_lines_.label_names),
            .pooling = options_.pooling.value_or(nn::Pooling::mean),
            .labels = train_lines_.label_names};
  }

  /// Tokens of a line at most.
  int64_t max_length() const {
    const int64_t positions = pretrained_ ? models::parts_of(pretrained_->config.encoder).max_length
                                          : options_.max_length.value_or(preset_.max_length);
    const int64_t wanted = options_.max_length.value_or(positions);
    if (wanted > positions)
      raise(ErrorKind::config, "train classifier: max_length must be at most {}, the positions of {}, got {}",
            positions, options_.init, wanted);
    return wanted;
  }

  text::BatchOptions batching() const {
    const int64_t rows = options_.batch.value_or(preset_.batch), longest = max_length();
    if (options_.batch_tokens && *options_.batch_tokens < longest)
      raise(ErrorKind::config, "train classifier: batch_tokens must be at least max_length, {}, got {}", longest,
            *options_.batch_tokens);
    const int64_t tokens = options_.batch_tokens.value_or(
        rows > std::numeric_limits<int64_t>::max() / longest ? std::numeric_limits<int64_t>::max() : rows * longest);
    return {.max_tokens = tokens, .max_sentences = rows};
  }

  LabelledIds encode(const text::LabelledCorpus& lines, const std::string& name) const {
    LabelledIds encoded = encode_labelled(lines, *tokenizer_, max_length());
    if (encoded.cut > 0)
      out_ << fmt::format("{}: {} of {} lines cut to {} tokens\n", name, encoded.cut, encoded.ids.size(), max_length());
    if (!encoded.unknown.empty()) out_ << fmt::format("{}: {}\n", name, encoded.unknown);
    return encoded;
  }

  Learned training_loss(const LabelledBatch& b) override {
    const Tensor ids = from_vector(b.ids, {b.rows, b.length}), seen = from_vector(b.seen, {b.rows, b.length});
    const Tensor logits = (*model_)(ids, Mask::padding(seen, 0));
    return {cross_entropy(logits, from_vector(b.labels, {b.rows})), b.rows};
  }

  Evaluation evaluate() override {
    const std::vector<std::vector<double>> found = classify_valid();
    std::vector<int64_t> said;
    double loss = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      said.push_back(std::ranges::max_element(found[i]) - found[i].begin());
      const double right = found[i][static_cast<size_t>(valid_.labels[i])];
      loss -= std::log(std::max(right, std::numeric_limits<double>::min()));
    }
    Confusion confusion = confusion_of(train_lines_.label_names, valid_.labels, said);
    const double right = accuracy(confusion), f1 = macro_f1(confusion), lines = static_cast<double>(found.size());
    loss /= lines;
    // The loss tells equal accuracies apart: it counts for less than one line.
    const double score = right - loss / (1 + loss) / (2 * lines);
    const FairSample sample = fair_sample(found.size(), 8, options_.run.seed, "validation lines");
    return {.loss = loss,
            .metrics = {{"accuracy", right}, {"macro_f1", f1}},
            .score = score,
            .samples = samples_of(sample, found, said),
            .drawn = sample.drawn,
            .confusion = std::move(confusion)};
  }

  /// Probabilities of the labels, for each line; every rank classifies its share.
  std::vector<std::vector<double>> classify_valid() {
    std::vector<std::string> mine;
    for (const std::vector<double>& found : models::classify(*model_, share_of(ranks(), valid_.ids)))
      mine.emplace_back(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(double));
    std::vector<std::vector<double>> all;
    for (const std::string& bytes : joined_shares(ranks(), mine, valid_.ids.size())) {
      all.emplace_back(bytes.size() / sizeof(double));
      std::memcpy(all.back().data(), bytes.data(), bytes.size());
    }
    return all;
  }

  /// What the model says of some lines, drawn without looking at them.
  std::vector<Sample> samples_of(const FairSample& sample, const std::vector<std::vector<double>>& found,
                                 const std::vector<int64_t>& said) const {
    const std::vector<std::string>& names = train_lines_.label_names;
    std::vector<Sample> samples;
    for (const size_t i : sample.places) {
      const auto label = static_cast<size_t>(said[i]);
      samples.push_back({valid_lines_.sentences[i], names[static_cast<size_t>(valid_.labels[i])],
                         fmt::format("{} ({:.0f}%)", names[label], 100 * found[i][label])});
    }
    return samples;
  }

  void print_sizes(int64_t batches) const {
    out_ << fmt::format("{} lines of {} labels to learn from, {} to validate, {} batches an epoch\n", train_.ids.size(),
                        train_lines_.label_names.size(), valid_.ids.size(), batches);
    const nn::Pooling pooling = model_->config().pooling;
    const bool chosen = options_.pooling || !pretrained_;
    out_ << fmt::format("{} parameters, {} of them trained; pooling: {}{}\n", model_->parameter_count(),
                        model_->trainable_parameter_count(), name_of(pooling),
                        chosen ? "" : fmt::format(" ({})", pretrained_->pooling_reason));
    if (options_.pooling == nn::Pooling::mean)
      out_ << "transformers has no class for this pooling and cannot read the folder; it can with the pooling "
              "\"first\"\n";
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    const nn::TransformerLayerOptions& layer = model_->base->options().layers.front();
    json["preset"] = preset_.name;
    json["data"] = file_setting(options_.data);
    json["valid"] = file_setting(options_.valid);
    if (options_.valid.empty()) json["valid_fraction"] = options_.valid_fraction.value_or(0.1);
    json["format"] = options_.records                                           ? to_string(*options_.records)
                     : options_.format == text::LabelFormat::sentence_tab_label ? "tsv"
                                                                                : "label-first";
    if (options_.records) json["fields"] = {options_.fields.text, options_.fields.label};
    if (pretrained_) {
      // Its weights are in the checkpoint.
      json["init"] = file_setting(fmt::format("{}/config.json", options_.init));
      json["new_head"] = options_.new_head;
      json["freeze"] = options_.freeze.value_or(0);
    } else {
      json["vocab_size"] = vocab_size();
    }
    json["pooling"] = name_of(model_->config().pooling);
    json["batch"] = batching().max_sentences;
    json["batch_tokens"] = batching().max_tokens;
    json["max_length"] = max_length();
    json["layers"] = model_->base->options().layers.size();
    json["width"] = layer.d_model;
    json["heads"] = layer.heads;
  }

  const ClassificationOptions& options_;
  const ClassifierPreset& preset_;
  std::optional<Pretrained> pretrained_;
  text::LabelledCorpus train_lines_, valid_lines_;
  LabelledIds train_, valid_;
};

}  // namespace

ClassificationResult train_classification(const ClassificationOptions& options, std::ostream& out,
                                          const TerminalInfo& terminal) {
  const auto folder = open_run_folder(options.run.ranks, options.run.out, options.run.start);
  ClassificationTask task(options, folder.get(), out);
  ClassificationResult result{.run = task.train(folder, terminal)};
  if (const auto& evaluation = result.run.evaluation) {
    result.valid_loss = evaluation->loss;
    result.valid_accuracy = evaluation->metrics.at("accuracy");
    result.valid_macro_f1 = evaluation->metrics.at("macro_f1");
  }
  return result;
}

Diagnosis examine_classification(const ClassificationOptions& options, std::ostream& out) {
  return ClassificationTask(options, nullptr, out).examine();
}

}  // namespace tape::train
