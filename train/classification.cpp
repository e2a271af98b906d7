#include "train/classification.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss.h"
#include "models/classify.h"
#include "train/confusion.h"
#include "train/encoder_setup.h"
#include "train/fair_sample.h"
#include "train/labelled_lines.h"
#include "train/task_run.h"

namespace tape::train {
namespace {

const EncoderPresets& classifier_presets() {
  static const EncoderPresets all{
      .from_scratch = {{.name = "small",
                        .epochs = 10,
                        .batch = 32,
                        .max_length = 256,
                        .vocab_size = 4000,
                        .layers = 2,
                        .width = 128,
                        .heads = 4,
                        .recipe = {.lr = 1e-3, .dropout = 0.2, .weight_decay = 0.01, .clip_norm = 1}}},
      .with_init = {{.name = "fine-tune",
                     .epochs = 3,
                     .batch = 32,
                     .max_length = 512,
                     .recipe = {.lr = 2e-4, .weight_decay = 0.01, .clip_norm = 1}}}};
  return all;
}

EncoderTaskOptions checked(const ClassificationOptions& options) {
  if (options.init.empty() && options.new_head) raise(ErrorKind::config, "train classifier: new_head needs init");
  return encoder_task_options("train classifier", options);
}

const char* name_of(nn::Pooling pooling) { return pooling == nn::Pooling::mean ? "mean" : "first"; }

/// Everything of a run but its loop.
class ClassificationTask : public TaskRun<LabelledBatch, models::SequenceClassifier, text::Tokenizer> {
 public:
  ClassificationTask(const ClassificationOptions& options, const RunFolder* folder, std::ostream& out)
      : TaskRun("classification", options.run, out),
        options_(options),
        setup_(checked(options), classifier_presets(), "a classifier"),
        pretrained_(setup_.pretrained()) {
    read_lines();
    take_tokenizer(folder, [this] { return make_tokenizer(); });
    train_ = encode(train_lines_, options.data);
    valid_ = encode(valid_lines_, setup_.valid_name());
    const auto plan = [this](int64_t epoch) {
      return text::plan_batches(train_.lengths, setup_.batching(), options_.run.seed, epoch).batches;
    };
    recipe_ = setup_.recipe(std::ssize(plan(0)));
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
      valid_lines_ = take_part(train_lines_, setup_.valid_fraction(), options_.run.seed, options_.data);
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

  std::unique_ptr<text::Tokenizer> make_tokenizer() {
    if (pretrained_) return std::move(pretrained_->tokenizer);
    return train_encoder_tokenizer(train_lines_.sentences, setup_.vocab_size());
  }

  void make_model() {
    if (pretrained_)
      model_ = begin_classifier(
          *pretrained_,
          {.labels = train_lines_.label_names, .pooling = options_.pooling, .dropout = options_.run.dropout});
    else
      model_ = std::make_unique<models::SequenceClassifier>(scratch_config());
    setup_.made(*model_);
  }

  models::SequenceClassifierConfig scratch_config() const {
    return {.encoder = setup_.from_scratch(*tokenizer_, recipe_.dropout),
            .num_labels = std::ssize(train_lines_.label_names),
            .pooling = options_.pooling.value_or(nn::Pooling::mean),
            .labels = train_lines_.label_names};
  }

  LabelledIds encode(const text::LabelledCorpus& lines, const std::string& name) const {
    LabelledIds encoded = encode_labelled(lines, *tokenizer_, setup_.max_length());
    print_notes(encoded.notes(name, setup_.max_length()));
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
    setup_.add_settings(json, model_->base->options());
    json["format"] = options_.records                                           ? to_string(*options_.records)
                     : options_.format == text::LabelFormat::sentence_tab_label ? "tsv"
                                                                                : "label-first";
    if (options_.records) json["fields"] = {options_.fields.text, options_.fields.label};
    if (pretrained_) json["new_head"] = options_.new_head;
    json["pooling"] = name_of(model_->config().pooling);
  }

  const ClassificationOptions& options_;
  EncoderSetup setup_;
  Pretrained* const pretrained_;  // null from scratch
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
