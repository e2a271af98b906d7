#include "train/tasks/embedding.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss/embedding_loss.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/shape.h"
#include "models/sentence/sentence_encoder.h"
#include "train/data/encoded_lines.h"
#include "train/data/random_sample.h"
#include "train/tasks/encoder_run.h"

namespace tape::train {
namespace {

/// Encoded pairs, aligned by row.
struct PairBatch {
  PaddedLines first, second;
};

struct EncodedPairs {
  EncodedLines first, second;
  std::vector<text::ExampleLength> lengths;

  void parts(auto&& each) { first.parts(each), second.parts(each), each(lengths); }
};

const EncoderPresets& embedding_presets() {
  static const auto& all = *new const EncoderPresets(
      encoder_presets({.epochs = 10, .batch = 64, .max_length = 128, .lr = 1e-3, .dropout = 0.1},
                      {.epochs = 1, .batch = 64, .max_length = 512, .lr = 5e-5}));
  return all;
}

const TextEmbeddingOptions& checked(const TextEmbeddingOptions& options) {
  if (options.batch && *options.batch < 2)
    raise(ErrorKind::config, "train embedding: batch must be at least 2, since a pair is compared with others, got {}",
          *options.batch);
  if (!(options.temperature > 0 && std::isfinite(options.temperature)))
    raise(ErrorKind::config, "train embedding: temperature must be a number > 0, got {}", options.temperature);
  if (options.run.memory_limit)
    raise(ErrorKind::config,
          "train embedding: memory_limit would split batches, within which pairs are compared; use a smaller batch");
  return options;
}

/// "mean", "first + max"
std::string word_of(const std::vector<models::SentencePooling>& pooling) {
  std::string words;
  for (const models::SentencePooling mode : pooling)
    words += fmt::format("{}{}", words.empty() ? "" : " + ",
                         mode == models::SentencePooling::cls ? std::string_view("first") : to_string(mode));
  return words;
}

/// An embedding run, without its loop.
class TextEmbeddingTask : public EncoderRun<TextEmbeddingOptions, PairBatch, models::SentenceEncoder> {
 public:
  TextEmbeddingTask(const TextEmbeddingOptions& options, const RunFolder* folder, std::ostream& out)
      : EncoderRun("embedding", "train embedding", checked(options), embedding_presets(), out) {
    if (!options.init.empty()) begin_with(read_pretrained_sentence_encoder(options.init));
    if (const int64_t batch = setup_.batching().max_sentences; batch < 2 * ranks().size() && ranks().size() > 1)
      raise(
          ErrorKind::config,
          "train embedding: batch must be at least {} on {} ranks, since each compares the pairs of its share, got {}",
          2 * ranks().size(), ranks().size(), batch);
    text::ParallelCorpus train, valid;
    if (ranks().is_root()) read_pairs(train, valid);
    begin_tokenizer(folder, text::pieces_of(2 * train.source.size(), [&](size_t i) {
                      return (i % 2 == 0 ? train.source : train.target)[i / 2];
                    }));
    examples_ = share<Examples>(folder, [&] {
      return Examples{.train = encode(train, options.data),
                      .valid = encode(valid, setup_.valid_name()),
                      .valid_first = std::move(valid.source),
                      .valid_second = std::move(valid.target)};
    });
    begin_learning([this](int64_t epoch) { return setup_.plan(examples_.train.lengths, epoch); },
                   [this] { return models::SentenceEncoderConfig{.encoder = scratch_encoder(), .pooling = pooling()}; },
                   [this] { return begin_sentence_encoder(*pretrained_, pooling(), options_.run.dropout); },
                   [this](const std::vector<int64_t>& which) { return collate(examples_.train, which); });
    print_sizes();
  }
  ~TextEmbeddingTask() override { stop_loading(); }

 private:
  /// Training and validation data.
  struct Examples {
    EncodedPairs train, valid;
    LongList<std::string> valid_first, valid_second;

    void parts(auto&& each) { train.parts(each), valid.parts(each), each(valid_first), each(valid_second); }
  };

  std::vector<models::SentencePooling> pooling() const {
    using models::SentencePooling;
    if (options_.pooling)
      return {*options_.pooling == nn::Pooling::mean ? SentencePooling::mean : SentencePooling::cls};
    return pretrained_ ? pretrained_->config.pooling : std::vector{SentencePooling::mean};
  }

  text::ParallelCorpus read_file(const std::string& file) const {
    text::ParallelCorpus pairs = options_.records
                                     ? text::read_parallel_records(file, *options_.records, options_.fields)
                                     : text::read_parallel_tsv(file);
    print_notes(pairs.notes);
    return pairs;
  }

  void read_pairs(text::ParallelCorpus& train, text::ParallelCorpus& valid) const {
    text::ParallelCorpus all = read_file(options_.data);
    if (!options_.valid.empty()) {
      train = std::move(all);
      valid = read_file(options_.valid);
    } else {
      const std::vector<bool> taken =
          draw_part(all.source.size(), setup_.valid_fraction(), options_.run.seed, options_.data);
      for (size_t i = 0; i < taken.size(); ++i) {
        text::ParallelCorpus& to = taken[i] ? valid : train;
        to.source.push_back(all.source[i]);
        to.target.push_back(all.target[i]);
      }
    }
    if (const int64_t least = 2 * ranks().size(); train.size() < least)
      raise(ErrorKind::config, "{}: training needs at least {} pairs{}, got {}", options_.data, least,
            ranks().size() > 1 ? fmt::format(" on {} ranks", ranks().size()) : "", train.size());
    note_doubles(train.target);
  }

  /// Texts as the model to start from reads them.
  EncodedLines encode_texts(const LongList<std::string>& texts) const {
    const models::SentenceTextOptions options = pretrained_ ? pretrained_->config.text : models::SentenceTextOptions();
    return encode_lines(texts, *tokenizer_, setup_.max_length(),
                        [&](const std::string& text) { return models::prepared(options, text); });
  }

  EncodedPairs encode(const text::ParallelCorpus& texts, const std::string& name) const {
    EncodedPairs pairs{.first = encode_texts(texts.source), .second = encode_texts(texts.target), .lengths = {}};
    print_notes(pairs.first.tokens.notes(name + ", first texts", texts.source.size(), setup_.max_length()));
    print_notes(pairs.second.tokens.notes(name + ", second texts", texts.target.size(), setup_.max_length()));
    for (size_t i = 0; i < pairs.first.ids.size(); ++i)
      pairs.lengths.push_back({pairs.first.lengths[i].source, pairs.second.lengths[i].source});
    return pairs;
  }

  PairBatch collate(const EncodedPairs& pairs, const std::vector<int64_t>& which) const {
    return {pad_lines(pairs.first, which, padding_id()), pad_lines(pairs.second, which, padding_id())};
  }

  Tensor vectors_of(const PaddedLines& b) {
    const Tensor seen = from_vector(b.seen, {b.rows, b.length});
    return (*model_)(from_vector(b.ids, {b.rows, b.length}), Mask::padding(seen, 0));
  }

  Tensor loss_of(const Tensor& first, const Tensor& second) const {
    return info_nce(first, second, {.temperature = options_.temperature, .symmetric = options_.symmetric});
  }

  /// Contrasts each pair with the others of its batch on this rank.
  LossBounds loss_bounds() const override {
    return {.classes = (setup_.batching().max_sentences + ranks().size() - 1) / ranks().size()};
  }

  BatchLoss training_loss(const PairBatch& b) override {
    return {loss_of(vectors_of(b.first), vectors_of(b.second)), b.first.rows};
  }

  /// Vectors [N, C] of texts; every rank computes its share.
  Tensor vectors_of(const EncodedLines& lines) {
    const auto found = found_of(lines.ids, [this](const auto& some) {
      const Tensor vectors = models::embed(*model_, some);
      std::vector<std::vector<float>> each;
      for (int64_t i = 0; i < vectors.size(0); ++i) each.push_back(vectors[i].to_vector<float>());
      return each;
    });
    std::vector<float> all;
    for (const std::vector<float>& vector : found) all.insert(all.end(), vector.begin(), vector.end());
    return from_vector(all, {std::ssize(found), model_->width()});
  }

  Evaluation evaluate() override {
    const Tensor first = vectors_of(examples_.valid.first), second = vectors_of(examples_.valid.second);
    const double loss = valid_loss(first, second), pairs = static_cast<double>(first.size(0));
    const std::vector<size_t> found = nearest(first, second);
    double right = 0;
    for (size_t i = 0; i < found.size(); ++i)
      right += examples_.valid_second[found[i]] == examples_.valid_second[i] ? 1 : 0;
    right /= pairs;
    // The loss, weighted less than one pair, breaks ties between equal recalls.
    const double score = right - loss / (1 + loss) / (2 * pairs);
    const RandomSample sample = random_sample(found.size(), 8, options_.run.seed, "validation pairs");
    std::vector<Sample> samples;
    samples.reserve(sample.places.size());
    for (const size_t i : sample.places)
      samples.push_back({examples_.valid_first[i], examples_.valid_second[i], examples_.valid_second[found[i]]});
    return {.loss = loss,
            .metrics = {{"recall_at_1", right}},
            .score = score,
            .samples = std::move(samples),
            .drawn = sample.drawn};
  }

  /// Loss of batches in file order, of the size used in training.
  double valid_loss(const Tensor& first, const Tensor& second) const {
    const int64_t pairs = first.size(0), batch = setup_.batching().max_sentences;
    std::vector<LossSum> losses;
    for (int64_t from = 0; from < pairs; from += batch) {
      const int64_t to = std::min(pairs, from + batch);
      losses.push_back(
          summed({loss_of(slice(first, 0, {.start = from, .end = to}), slice(second, 0, {.start = from, .end = to})),
                  to - from}));
    }
    return mean_loss(losses);
  }

  /// For each first text the second text with the largest cosine; on a tie, the first of them.
  static std::vector<size_t> nearest(const Tensor& first, const Tensor& second) {
    constexpr int64_t kRows = 256;
    std::vector<size_t> found;
    for (int64_t from = 0; from < first.size(0); from += kRows) {
      const Tensor some = slice(first, 0, {.start = from, .end = from + kRows});
      const auto cosines = matmul(some, second, {.transpose_b = true}).to_vector<float>();  // [rows, N]
      for (auto row = cosines.begin(); row != cosines.end(); row += second.size(0))
        found.push_back(static_cast<size_t>(std::max_element(row, row + second.size(0)) - row));
    }
    return found;
  }

  void save_model(const std::string& folder) override {
    if (options_.adapters)
      EncoderRun::save_model(folder);
    else
      models::save_encoder(folder, *model_);
    // 1_Pooling is a folder, and a checkpoint may contain only files.
    if (folder == options_.run.out) models::save_sentence_modules(folder, *model_, {.max_tokens = setup_.max_length()});
  }

  void note_doubles(const LongList<std::string>& second) const {
    std::map<std::string, int64_t> times;
    int64_t doubles = 0;
    for (const std::string& text : second) doubles += times[text]++ > 0 ? 1 : 0;
    if (doubles > 0)
      out_ << fmt::format(
          "{}: {} of {} second texts are duplicates: if both are in one batch, each counts as a wrong match for the "
          "other's partner\n",
          options_.data, doubles, second.size());
  }

  void print_sizes() const {
    out_ << fmt::format("{} training pairs, {} validation pairs, {} batches per epoch\n",
                        examples_.train.lengths.size(), examples_.valid.lengths.size(), batches_);
    out_ << fmt::format("{} parameters, {} trainable; pooling: {}\n", model_->parameter_count(),
                        model_->trainable_parameter_count(), word_of(model_->config().pooling));
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    add_encoder_settings(json, options_.records ? to_string(*options_.records) : "pairs",
                         {options_.fields.source, options_.fields.target});
    json["pooling"] = word_of(model_->config().pooling);
    json["temperature"] = options_.temperature;
    json["symmetric"] = options_.symmetric;
  }

  Examples examples_;
};

}  // namespace

TextEmbeddingResult train_text_embedding(const TextEmbeddingOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal) {
  TextEmbeddingResult result{.run = train_encoder<TextEmbeddingTask>(options, out, terminal)};
  if (const auto& evaluation = result.run.evaluation) {
    result.valid_loss = evaluation->loss;
    result.valid_recall = evaluation->metrics.at("recall_at_1");
  }
  return result;
}

Diagnosis examine_text_embedding(const TextEmbeddingOptions& options, std::ostream& out) {
  return TextEmbeddingTask(options, nullptr, out).examine();
}

}  // namespace tape::train
