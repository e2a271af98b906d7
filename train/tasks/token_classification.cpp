#include "train/tasks/token_classification.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "base/number_text.h"
#include "models/heads/label_words.h"
#include "train/data/labeled.h"
#include "train/data/random_sample.h"
#include "train/tasks/confusion.h"
#include "train/tasks/encoder_run.h"
#include "train/tasks/entities.h"

namespace tape::train {
namespace {

/// Predicted labels of one sentence's words, and their probabilities.
struct PredictedLabels {
  std::vector<int64_t> labels;
  double loss = 0;  // summed over words
};

/// A token classification run, without its loop.
class TokenClassificationTask : public EncoderRun<TokenClassificationOptions, LabeledBatch, models::TokenClassifier> {
 public:
  TokenClassificationTask(const TokenClassificationOptions& options, const RunFolder* folder, std::ostream& out)
      : EncoderRun("token labels", "train tokens", options, classifier_presets(), out) {
    if (!options.init.empty()) begin_with(read_pretrained_token_classifier(options.init));
    text::LabeledWords train, valid;
    if (ranks().is_root()) read_sentences(train, valid);
    begin_tokenizer(folder,
                    text::pieces_of(train.words.size(), [&](size_t i) { return text::joined_words(train.words[i]); }));
    examples_ = share<Examples>(folder, [&] {
      return Examples{.label_names = train.label_names,
                      .train = encode(train, options.data),
                      .valid = encode(valid, setup_.valid_name()),
                      .valid_words = std::move(valid.words)};
    });
    begin_learning(
        [this](int64_t epoch) { return setup_.plan(examples_.train.lengths, epoch); },
        [this] {
          return models::TokenClassifierConfig{
              .encoder = scratch_encoder(), .num_labels = std::ssize(labels()), .labels = labels()};
        },
        [this] { return make_token_classifier(*pretrained_, {.labels = labels(), .dropout = options_.run.dropout}); },
        [this](const std::vector<int64_t>& which) { return collate_labeled(examples_.train, which, padding_id()); });
    out_ << fmt::format(
        "{} training sentences with {} words and {} labels, {} validation sentences with {} words, {} batches per "
        "epoch\n{} parameters, {} trainable; the weights with the best {} are kept\n",
        examples_.train.words.size(), examples_.train.all_words - examples_.train.lost_words, labels().size(),
        examples_.valid.words.size(), examples_.valid.all_words - examples_.valid.lost_words, batches_,
        model_->parameter_count(), model_->trainable_parameter_count(), bio() ? "entity F1" : "accuracy");
  }
  ~TokenClassificationTask() override { stop_loading(); }

 private:
  /// Training and validation data.
  struct Examples {
    std::vector<std::string> label_names;
    LabeledWordIds train, valid;
    LongList<std::vector<std::string>> valid_words;

    void parts(auto&& each) { each(label_names), train.parts(each), valid.parts(each), each(valid_words); }
  };

  const std::vector<std::string>& labels() const { return examples_.label_names; }
  bool bio() const { return are_bio(labels()); }

  void read_sentences(text::LabeledWords& train, text::LabeledWords& valid) const {
    train = read_data([this](text::LabelNames known) { return read_file(options_.data, known); });
    std::vector<bool> used(train.label_names.size(), false);
    for (const std::vector<int64_t>& sentence : train.labels)
      for (const int64_t label : sentence) used[static_cast<size_t>(label)] = true;
    if (std::ranges::count(used, true) < 2)
      raise(ErrorKind::config, "{}: all words have the label \"{}\"; there must be at least two", options_.data,
            train.label_names[static_cast<size_t>(train.labels[0].front())]);
    print_notes(train.notes);
    note_strays(train, options_.data);
    if (options_.valid.empty()) {
      valid = take_part(train, setup_.valid_fraction(), options_.run.seed, options_.data);
    } else {
      valid = read_file(options_.valid, train.label_names);
      print_notes(valid.notes);
      note_strays(valid, options_.valid);
    }
  }

  text::LabeledWords read_file(const std::string& file, text::LabelNames label_names) const {
    return options_.records ? text::read_labeled_words(file, *options_.records, options_.fields, label_names)
                            : text::read_conll(file, label_names);
  }

  /// Prints how many labels of a file violate the BIO scheme.
  void note_strays(const text::LabeledWords& corpus, const std::string& name) const {
    if (!are_bio(corpus.label_names)) return;
    EntityCounter counter(corpus.label_names);
    for (const std::vector<int64_t>& sentence : corpus.labels) counter.add(sentence, sentence);
    if (counter.stray() > 0)
      out_ << fmt::format("{}: {} with an I- label that continues no entity of its type: ignored\n", name,
                          counted(counter.stray(), "word"));
  }

  LabeledWordIds encode(const text::LabeledWords& corpus, const std::string& name) const {
    LabeledWordIds encoded = encode_labeled(corpus, *tokenizer_, setup_.max_length());
    print_notes(encoded.tokens.notes(name, corpus.words.size(), setup_.max_length(), "sentences"));
    if (encoded.lost_words > 0)
      out_ << fmt::format("{}: {} of {} have no token within the limit, and are omitted\n", name,
                          grouped(encoded.lost_words), counted(encoded.all_words, "word"));
    if (encoded.words.empty()) raise(ErrorKind::config, "{}: none of its words has a token", name);
    return encoded;
  }

  LossBounds loss_bounds() const override { return {.classes = std::ssize(labels())}; }

  BatchLoss training_loss(const LabeledBatch& b) override {
    const Tensor ids = from_vector(b.ids, {b.rows, b.length}), seen = from_vector(b.seen, {b.rows, b.length});
    const Tensor logits = (*model_)(ids, Mask::padding(seen, 0));
    const auto words = std::ranges::count_if(b.labels, [](int64_t label) { return label >= 0; });
    return {model_->loss(logits, from_vector(b.labels, {b.rows, b.length})), words};
  }

  Evaluation evaluate() override {
    const std::vector<std::vector<double>> found = found_of(examples_.valid.words, [this](const auto& some) {
      return models::label_words(*model_, some, {.batch_tokens = valid_batch_tokens()});
    });
    std::vector<PredictedLabels> said;
    std::vector<int64_t> truth, predicted_labels;
    double loss = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      const std::vector<int64_t> right = examples_.valid.labels[i];
      said.push_back(said_of(found[i], right));
      truth.insert(truth.end(), right.begin(), right.end());
      predicted_labels.insert(predicted_labels.end(), said[i].labels.begin(), said[i].labels.end());
      loss += said[i].loss;
    }
    const auto words = static_cast<double>(truth.size());
    loss /= words;
    std::map<std::string, double> metrics{{"accuracy", accuracy(truth, predicted_labels)}};
    if (bio()) metrics["f1"] = f1_of(said);
    // The loss breaks ties: distinct scores, fractions of at most 2 words entities, differ by more than its weight.
    const double score = metrics.at(bio() ? "f1" : "accuracy") - loss / (1 + loss) / (2 * words * words);
    const RandomSample sample = random_sample(found.size(), 8, options_.run.seed, "validation sentences");
    return {.loss = loss,
            .metrics = std::move(metrics),
            .score = score,
            .samples = samples_of(sample, said),
            .drawn = sample.drawn,
            .confusion = confusion_to_log(labels(), truth, predicted_labels)};
  }

  /// The most likely label of each word, from probabilities [words, labels].
  PredictedLabels said_of(const std::vector<double>& found, const std::vector<int64_t>& truth) const {
    PredictedLabels said;
    for (size_t word = 0; word < truth.size(); ++word) {
      const std::span<const double> p = std::span(found).subspan(word * labels().size(), labels().size());
      said.labels.push_back(std::ranges::max_element(p) - p.begin());
      said.loss += loss_of(p[static_cast<size_t>(truth[word])]);
    }
    return said;
  }

  double f1_of(const std::vector<PredictedLabels>& said) const {
    EntityCounter counter(labels());
    for (size_t i = 0; i < said.size(); ++i) counter.add(examples_.valid.labels[i], said[i].labels);
    return counter.count().f1();
  }

  /// Predictions for some sentences, drawn without regard to their content.
  std::vector<Sample> samples_of(const RandomSample& sample, const std::vector<PredictedLabels>& said) const {
    const auto named = [this](const std::vector<int64_t>& numbers) {
      std::vector<std::string> names;
      names.reserve(numbers.size());
      for (const int64_t label : numbers) names.push_back(labels()[static_cast<size_t>(label)]);
      return text::joined_words(names);
    };
    std::vector<Sample> samples;
    samples.reserve(sample.places.size());
    for (const size_t i : sample.places)
      samples.push_back({text::joined_words(examples_.valid_words[static_cast<size_t>(examples_.valid.sentence[i])]),
                         named(examples_.valid.labels[i]), named(said[i].labels)});
    return samples;
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    add_encoder_settings(json, options_.records ? to_string(*options_.records) : "conll",
                         {options_.fields.tokens, options_.fields.labels});
  }

  Examples examples_;
};

}  // namespace

TokenClassificationResult train_token_classification(const TokenClassificationOptions& options, std::ostream& out,
                                                     const TerminalInfo& terminal) {
  TokenClassificationResult result{.run = train_encoder<TokenClassificationTask>(options, out, terminal)};
  if (const auto& evaluation = result.run.evaluation) {
    result.valid_loss = evaluation->loss;
    result.valid_accuracy = evaluation->metrics.at("accuracy");
    if (const auto f1 = evaluation->metrics.find("f1"); f1 != evaluation->metrics.end()) result.valid_f1 = f1->second;
  }
  return result;
}

Diagnosis examine_token_classification(const TokenClassificationOptions& options, std::ostream& out) {
  return TokenClassificationTask(options, nullptr, out).examine();
}

}  // namespace tape::train
