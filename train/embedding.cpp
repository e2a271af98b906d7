#include "train/embedding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <ostream>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/embedding_loss.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/shape.h"
#include "models/sentence_encoder.h"
#include "text/tokenizers/config.h"
#include "train/encoded_lines.h"
#include "train/encoder_setup.h"
#include "train/fair_sample.h"
#include "train/task_run.h"

namespace tape::train {
namespace {

/// Texts that belong together, row by row.
struct PairBatch {
  PaddedLines first, second;
};

struct EncodedPairs {
  EncodedLines first, second;
  std::vector<text::ExampleLength> lengths;
};

const EncoderPresets& embedding_presets() {
  static const EncoderPresets all{
      .from_scratch = {{.name = "small",
                        .epochs = 10,
                        .batch = 64,
                        .max_length = 128,
                        .vocab_size = 4000,
                        .layers = 2,
                        .width = 128,
                        .heads = 4,
                        .recipe = {.lr = 1e-3, .dropout = 0.1, .weight_decay = 0.01, .clip_norm = 1}}},
      .with_init = {{.name = "fine-tune",
                     .epochs = 1,
                     .batch = 64,
                     .max_length = 512,
                     .recipe = {.lr = 5e-5, .weight_decay = 0.01, .clip_norm = 1}}}};
  return all;
}

EncoderTaskOptions checked_embedding(const TextEmbeddingOptions& options) {
  if (options.batch && *options.batch < 2)
    raise(ErrorKind::config, "train embedding: batch must be at least 2, got {}: a pair is told from the others",
          *options.batch);
  if (!(options.temperature > 0 && std::isfinite(options.temperature)))
    raise(ErrorKind::config, "train embedding: temperature must be a number > 0, got {}", options.temperature);
  if (options.run.memory_limit)
    raise(ErrorKind::config,
          "train embedding: memory_limit would cut batches, within which pairs are told apart; choose a smaller batch");
  return encoder_task_options("train embedding", options);
}

const char* word_of(nn::Pooling pooling) { return pooling == nn::Pooling::mean ? "mean" : "first"; }

/// Everything of a run but its loop.
class TextEmbeddingTask : public TaskRun<PairBatch, models::SentenceEncoder, text::Tokenizer> {
 public:
  TextEmbeddingTask(const TextEmbeddingOptions& options, const RunFolder* folder, std::ostream& out)
      : TaskRun("embedding", options.run, out),
        options_(options),
        setup_(checked_embedding(options), embedding_presets(), "a model of embeddings"),
        pooling_(chosen_pooling()) {
    read_pairs();
    take_tokenizer(folder, [this] { return make_tokenizer(); });
    train_ = encode(train_texts_, options.data);
    valid_ = encode(valid_texts_, setup_.valid_name());
    const auto plan = [this](int64_t epoch) {
      return text::plan_batches(train_.lengths, setup_.batching(), options_.run.seed, epoch).batches;
    };
    recipe_ = setup_.recipe(std::ssize(plan(0)));
    manual_seed(options.run.seed);
    make_model();
    make_adam();
    schedule_ = std::make_unique<optim::LinearSchedule>(
        *adam_, optim::LinearOptions{.warmup = recipe_.warmup, .total = recipe_.steps});
    loader_ = std::make_unique<Loader<PairBatch>>(LoaderOptions<PairBatch>{
        .plan = plan, .collate = [this](const std::vector<int64_t>& which) { return collate(train_, which); }});
    print_sizes(std::ssize(plan(0)));
  }
  ~TextEmbeddingTask() override { stop_loading(); }

 private:
  nn::Pooling chosen_pooling() const {
    if (options_.pooling) return *options_.pooling;
    const Pretrained* from = setup_.pretrained();
    return from && from->has_pooling_file ? from->config.pooling : nn::Pooling::mean;
  }

  text::ParallelCorpus read_file(const std::string& file) const {
    text::ParallelCorpus pairs = options_.records
                                     ? text::read_parallel_records(file, *options_.records, options_.fields)
                                     : text::read_parallel_tsv(file);
    print_notes(pairs.notes);
    return pairs;
  }

  void read_pairs() {
    text::ParallelCorpus all = read_file(options_.data);
    if (!options_.valid.empty()) {
      train_texts_ = std::move(all);
      valid_texts_ = read_file(options_.valid);
    } else {
      const std::vector<bool> taken =
          lines_to_validate(all.source.size(), setup_.valid_fraction(), options_.run.seed, options_.data);
      for (size_t i = 0; i < taken.size(); ++i) {
        text::ParallelCorpus& to = taken[i] ? valid_texts_ : train_texts_;
        to.source.push_back(std::move(all.source[i]));
        to.target.push_back(std::move(all.target[i]));
      }
    }
    if (train_texts_.size() < 2)
      raise(ErrorKind::config, "{}: 1 pair to learn from; a pair is told from others", options_.data);
  }

  std::unique_ptr<text::Tokenizer> make_tokenizer() {
    if (Pretrained* from = setup_.pretrained()) return std::move(from->tokenizer);
    std::vector<std::string> texts = train_texts_.source;
    texts.insert(texts.end(), train_texts_.target.begin(), train_texts_.target.end());
    return train_encoder_tokenizer(texts, setup_.vocab_size());
  }

  void make_model() {
    if (const Pretrained* from = setup_.pretrained())
      model_ = begin_sentence_encoder(*from, pooling_, options_.run.dropout);
    else
      model_ = std::make_unique<models::SentenceEncoder>(models::SentenceEncoderConfig{
          .encoder = setup_.from_scratch(*tokenizer_, recipe_.dropout), .pooling = pooling_});
    setup_.made(*model_);
  }

  EncodedPairs encode(const text::ParallelCorpus& texts, const std::string& name) const {
    EncodedPairs pairs{.first = encode_lines(texts.source, *tokenizer_, setup_.max_length()),
                       .second = encode_lines(texts.target, *tokenizer_, setup_.max_length()),
                       .lengths = {}};
    print_notes(pairs.first.notes(name + ", first texts", setup_.max_length()));
    print_notes(pairs.second.notes(name + ", second texts", setup_.max_length()));
    for (size_t i = 0; i < pairs.first.ids.size(); ++i)
      pairs.lengths.push_back({std::ssize(pairs.first.ids[i]), std::ssize(pairs.second.ids[i])});
    return pairs;
  }

  PairBatch collate(const EncodedPairs& pairs, const std::vector<int64_t>& which) const {
    const int64_t padding = std::max<int64_t>(model_->base->options().padding_id, 0);
    return {pad_lines(pairs.first, which, padding), pad_lines(pairs.second, which, padding)};
  }

  Tensor vectors_of(const PaddedLines& b) {
    const Tensor seen = from_vector(b.seen, {b.rows, b.length});
    return (*model_)(from_vector(b.ids, {b.rows, b.length}), Mask::padding(seen, 0));
  }

  Tensor loss_of(const Tensor& first, const Tensor& second) const {
    return info_nce(first, second, {.temperature = options_.temperature, .symmetric = options_.symmetric});
  }

  Learned training_loss(const PairBatch& b) override {
    return {loss_of(vectors_of(b.first), vectors_of(b.second)), b.first.rows};
  }

  /// Vectors [N, C] of texts; every rank makes its share.
  Tensor vectors_of(const EncodedLines& lines) {
    const auto width = static_cast<size_t>(model_->base->width());
    const auto values = models::embed(*model_, share_of(ranks(), lines.ids)).to_vector<float>();
    std::vector<std::string> mine;
    for (size_t at = 0; at < values.size(); at += width)
      mine.emplace_back(reinterpret_cast<const char*>(values.data() + at), width * sizeof(float));
    std::vector<float> all(lines.ids.size() * width);
    size_t row = 0;
    for (const std::string& bytes : joined_shares(ranks(), mine, lines.ids.size()))
      std::memcpy(all.data() + row++ * width, bytes.data(), bytes.size());
    return from_vector(all, {std::ssize(lines.ids), model_->base->width()});
  }

  Evaluation evaluate() override {
    const Tensor first = vectors_of(valid_.first), second = vectors_of(valid_.second);
    const double loss = valid_loss(first, second), pairs = static_cast<double>(first.size(0));
    const std::vector<size_t> found = nearest(first, second);
    double right = 0;
    for (size_t i = 0; i < found.size(); ++i) right += valid_texts_.target[found[i]] == valid_texts_.target[i] ? 1 : 0;
    right /= pairs;
    // The loss tells equal recalls apart: it counts for less than one pair.
    const double score = right - loss / (1 + loss) / (2 * pairs);
    const FairSample sample = fair_sample(found.size(), 8, options_.run.seed, "validation pairs");
    std::vector<Sample> samples;
    for (const size_t i : sample.places)
      samples.push_back({valid_texts_.source[i], valid_texts_.target[i], valid_texts_.target[found[i]]});
    return {.loss = loss,
            .metrics = {{"recall_at_1", right}},
            .score = score,
            .samples = std::move(samples),
            .drawn = sample.drawn};
  }

  /// Of batches in the order of the file, as large as those of training.
  double valid_loss(const Tensor& first, const Tensor& second) const {
    const int64_t pairs = first.size(0), batch = setup_.batching().max_sentences;
    std::vector<SummedLoss> losses;
    for (int64_t from = 0; from < pairs; from += batch) {
      const int64_t to = std::min(pairs, from + batch);
      losses.push_back(
          summed({loss_of(slice(first, 0, {.start = from, .end = to}), slice(second, 0, {.start = from, .end = to})),
                  to - from}));
    }
    return mean_loss(losses);
  }

  /// Of each first text the second text with the largest cosine, of equal ones the first.
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

  /// Checkpoints hold files alone, which 1_Pooling is not.
  void save_model(const std::string& folder) override {
    if (folder != options_.run.out) return models::save_encoder(folder, *model_);
    const nlohmann::ordered_json texts{{"max_seq_length", setup_.max_length()}, {"do_lower_case", false}};
    const nlohmann::ordered_json compared{{"prompts", nlohmann::ordered_json::object()},
                                          {"default_prompt_name", nullptr},
                                          {"similarity_fn_name", "cosine"}};
    text::write_in_folder(folder, "sentence_bert_config.json", texts.dump(2) + "\n");
    text::write_in_folder(folder, "config_sentence_transformers.json", compared.dump(2) + "\n");
    models::save(folder, *model_);
  }
  nn::StateDict load_model(const std::string& folder) override {
    nn::StateDict values;
    const auto encoder = models::load<models::EncoderModel>(folder);
    for (const auto& [name, value] : encoder->state_dict())
      values.emplace(fmt::format("{}.{}", encoder->options().family, name), value);
    return values;
  }

  void print_sizes(int64_t batches) const {
    std::map<std::string, int64_t> times;
    int64_t doubles = 0;
    for (const std::string& text : train_texts_.target) doubles += times[text]++ > 0 ? 1 : 0;
    if (doubles > 0)
      out_ << fmt::format(
          "{}: {} of {} second texts stood there before: in one batch, each counts as wrong for the "
          "other's partner\n",
          options_.data, doubles, train_texts_.size());
    out_ << fmt::format("{} pairs to learn from, {} to validate, {} batches an epoch\n", train_texts_.size(),
                        valid_texts_.size(), batches);
    out_ << fmt::format("{} parameters, {} of them trained; pooling: {}\n", model_->parameter_count(),
                        model_->trainable_parameter_count(), word_of(pooling_));
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    setup_.add_settings(json, model_->base->options());
    json["format"] = options_.records ? to_string(*options_.records) : "pairs";
    if (options_.records) json["fields"] = {options_.fields.source, options_.fields.target};
    json["pooling"] = word_of(pooling_);
    json["temperature"] = options_.temperature;
    json["symmetric"] = options_.symmetric;
  }

  const TextEmbeddingOptions& options_;
  EncoderSetup setup_;
  const nn::Pooling pooling_;
  text::ParallelCorpus train_texts_, valid_texts_;
  EncodedPairs train_, valid_;
};

}  // namespace

TextEmbeddingResult train_text_embedding(const TextEmbeddingOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal) {
  const auto folder = open_run_folder(options.run.ranks, options.run.out, options.run.start);
  TextEmbeddingTask task(options, folder.get(), out);
  TextEmbeddingResult result{.run = task.train(folder, terminal)};
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
