#include "train/tasks/classification.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "models/heads/classify.h"
#include "train/data/labeled.h"
#include "train/data/random_sample.h"
#include "train/tasks/confusion.h"
#include "train/tasks/encoder_run.h"

namespace tape::train {
namespace {

const char* name_of(nn::Pooling pooling) { return pooling == nn::Pooling::mean ? "mean" : "first"; }

/// A classification run, without its loop.
class ClassificationTask
    : public EncoderRun<ClassificationOptions, LabeledBatch, models::SequenceClassifier, PretrainedClassifier> {
 public:
  ClassificationTask(const ClassificationOptions& options, const RunFolder* folder, std::ostream& out)
      : EncoderRun("classification", "train classifier", options, classifier_presets(), out) {
    if (!options.init.empty()) begin_with(read_pretrained_classifier(options.init));
    text::LabeledCorpus train, valid;
    if (ranks().is_root()) read_lines(train, valid);
    begin_tokenizer(folder, text::pieces_of(train.sentences.size(), [&](size_t i) { return train.sentences[i]; }));
    examples_ = share<Examples>(folder, [&] {
      return Examples{.label_names = train.label_names,
                      .train = encode(train, options.data),
                      .valid = encode(valid, setup_.valid_name()),
                      .valid_sentences = std::move(valid.sentences)};
    });
    begin_learning(
        [this](int64_t epoch) { return setup_.plan(examples_.train.lengths, epoch); },
        [this] {
          return models::SequenceClassifierConfig{.encoder = scratch_encoder(),
                                                  .num_labels = std::ssize(label_names()),
                                                  .pooling = options_.pooling.value_or(nn::Pooling::mean),
                                                  .labels = label_names()};
        },
        [this] {
          return make_classifier(
              *pretrained_, {.labels = label_names(), .pooling = options_.pooling, .dropout = options_.run.dropout});
        },
        [this](const std::vector<int64_t>& which) { return collate_labeled(examples_.train, which, padding_id()); });
    print_sizes();
  }
  ~ClassificationTask() override { stop_loading(); }

 private:
  /// Training and validation data.
  struct Examples {
    std::vector<std::string> label_names;
    LabeledIds train, valid;
    LongList<std::string> valid_sentences;

    void parts(auto&& each) { each(label_names), train.parts(each), valid.parts(each), each(valid_sentences); }
  };

  const std::vector<std::string>& label_names() const { return examples_.label_names; }

  void read_lines(text::LabeledCorpus& train, text::LabeledCorpus& valid) const {
    train = read_data([this](text::LabelNames known) { return read_file(options_.data, known); });
    if (std::ranges::adjacent_find(train.labels, std::not_equal_to<>()) == train.labels.end())
      raise(ErrorKind::config, "{}: all {} lines have the label \"{}\"; a classifier needs at least two", options_.data,
            train.size(), train.label_names[static_cast<size_t>(train.labels.front())]);
    print_notes(train.notes);
    if (options_.valid.empty()) {
      valid = take_part(train, setup_.valid_fraction(), options_.run.seed, options_.data);
    } else {
      valid = read_file(options_.valid, train.label_names);
      print_notes(valid.notes);
    }
  }

  text::LabeledCorpus read_file(const std::string& file, text::LabelNames label_names) const {
    return options_.records ? text::read_labeled_records(file, *options_.records, options_.fields, label_names)
                            : text::read_labeled(file, options_.format, label_names);
  }

  LabeledIds encode(const text::LabeledCorpus& lines, const std::string& name) const {
    LabeledIds encoded = encode_labeled(lines, *tokenizer_, setup_.max_length());
    print_notes(encoded.tokens.notes(name, encoded.ids.size(), setup_.max_length()));
    return encoded;
  }

  LossBounds loss_bounds() const override { return {.classes = std::ssize(label_names())}; }

  BatchLoss training_loss(const LabeledBatch& b) override {
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
      loss += loss_of(found[i][static_cast<size_t>(examples_.valid.labels[i])]);
    }
    const std::vector<int64_t>& truth = examples_.valid.labels;
    const double right = accuracy(truth, said), f1 = macro_f1(std::ssize(label_names()), truth, said),
                 lines = static_cast<double>(found.size());
    loss /= lines;
    // The loss, weighted less than one line, breaks ties between equal accuracies.
    const double score = right - loss / (1 + loss) / (2 * lines);
    const RandomSample sample = random_sample(found.size(), 8, options_.run.seed, "validation lines");
    return {.loss = loss,
            .metrics = {{"accuracy", right}, {"macro_f1", f1}},
            .score = score,
            .samples = samples_of(sample, found, said),
            .drawn = sample.drawn,
            .confusion = confusion_to_log(label_names(), truth, said)};
  }

  /// Label probabilities of each line; every rank classifies its share.
  std::vector<std::vector<double>> classify_valid() {
    return found_of(examples_.valid.ids, [this](const auto& some) {
      return models::classify(*model_, some, {}, {.batch_tokens = valid_batch_tokens()});
    });
  }

  /// Predictions for some lines, drawn without regard to their content.
  std::vector<Sample> samples_of(const RandomSample& sample, const std::vector<std::vector<double>>& found,
                                 const std::vector<int64_t>& said) const {
    const std::vector<std::string>& names = label_names();
    std::vector<Sample> samples;
    for (const size_t i : sample.places) {
      const auto label = static_cast<size_t>(said[i]);
      samples.push_back({examples_.valid_sentences[i], names[static_cast<size_t>(examples_.valid.labels[i])],
                         fmt::format("{} ({:.0f}%)", names[label], 100 * found[i][label])});
    }
    return samples;
  }

  void print_sizes() const {
    out_ << fmt::format("{} training lines with {} labels, {} validation lines, {} batches per epoch\n",
                        examples_.train.ids.size(), label_names().size(), examples_.valid.ids.size(), batches_);
    const nn::Pooling pooling = model_->config().pooling;
    const bool chosen = options_.pooling || !pretrained_;
    out_ << fmt::format("{} parameters, {} trainable; pooling: {}{}\n", model_->parameter_count(),
                        model_->trainable_parameter_count(), name_of(pooling),
                        chosen ? "" : fmt::format(" ({})", pretrained_->pooling_reason));
    if (options_.pooling == nn::Pooling::mean)
      out_ << "transformers has no class for this pooling and cannot read the folder; it can with the pooling "
              "\"first\"\n";
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    const char* const of_lines = options_.format == text::LabelFormat::sentence_tab_label ? "tsv" : "label-first";
    add_encoder_settings(json, options_.records ? to_string(*options_.records) : of_lines,
                         {options_.fields.text, options_.fields.label});
    json["pooling"] = name_of(model_->config().pooling);
  }

  Examples examples_;
};

}  // namespace

ClassificationResult train_classification(const ClassificationOptions& options, std::ostream& out,
                                          const TerminalInfo& terminal) {
  ClassificationResult result{.run = train_encoder<ClassificationTask>(options, out, terminal)};
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
