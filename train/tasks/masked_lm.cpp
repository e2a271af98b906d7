#include "train/tasks/masked_lm.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "models/heads/masked_language_model.h"
#include "text/corpus/documents.h"
#include "text/corpus/line_reader.h"
#include "train/data/encoded_lines.h"
#include "train/data/random_sample.h"
#include "train/data/token_mask.h"
#include "train/tasks/encoder_run.h"

namespace tape::train {
namespace {

/// Masked lines as model input; places b T + t of the tokens to predict.
struct MaskedBatch : PaddedLines {
  std::vector<int64_t> places = {}, words = {};
};

const EncoderPresets& masked_lm_presets() {
  static const auto& all = *new const EncoderPresets(
      encoder_presets({.epochs = 10, .batch = 32, .max_length = 128, .lr = 1e-3, .dropout = 0.1},
                      {.epochs = 3, .batch = 32, .max_length = 512, .lr = 5e-5}));
  return all;
}

/// A masked language modeling run, without its loop.
class MaskedLMTask : public EncoderRun<MaskedLMOptions, MaskedBatch, models::MaskedLanguageModel> {
 public:
  MaskedLMTask(const MaskedLMOptions& options, const RunFolder* folder, std::ostream& out)
      : EncoderRun("masked language model", "train mlm", options, masked_lm_presets(), out) {
    if (!options.init.empty()) begin_with(read_pretrained_masked_lm(options.init));
    if (options.adapters && !pretrained_->has_head())
      raise(ErrorKind::config,
            "train mlm: {} has no language modeling head; with adapters the model is frozen, so a new head would stay "
            "untrained",
            options.init);
    LongList<std::string> train, valid;
    if (ranks().is_root()) train = read_file(options.data), valid = read_valid(train);
    begin_tokenizer(folder, text::pieces_of(train.size(), [&train](size_t i) { return train[i]; }), true);
    mask_ = std::make_unique<TokenMask>(*tokenizer_, options.mask_share, options.run.seed,
                                        options.init.empty() ? "the run" : options.init);
    examples_ = share<Examples>(folder, [&] {
      return Examples{.train = encode(train, options.data), .valid = encode(valid, setup_.valid_name())};
    });
    valid_batches_ = text::plan_sorted_batches(examples_.valid.lengths, setup_.batching()).batches;
    begin_learning([this](int64_t epoch) { return plan(epoch); },
                   [this] { return models::EncoderConfig(scratch_encoder()); },
                   [this] { return begin_masked_language_model(*pretrained_, options_.run.dropout); },
                   [this](const std::vector<int64_t>& which) { return training_batch(which); });
    out_ << fmt::format("{} training lines, {} validation lines, {} batches per epoch; {} parameters, {} trainable\n",
                        examples_.train.ids.size(), examples_.valid.ids.size(), batches_, model_->parameter_count(),
                        model_->trainable_parameter_count());
  }
  ~MaskedLMTask() override { stop_loading(); }

 private:
  /// Training and validation data.
  struct Examples {
    EncodedLines train, valid;

    void parts(auto&& each) { train.parts(each), valid.parts(each); }
  };

  LongList<std::string> read_file(const std::string& file) const {
    LongList<std::string> texts;
    if (options_.records) {
      text::DocumentReader reader(file, *options_.records, {.text = options_.text_field});
      while (auto document = reader.next()) {
        if (reader.has_prompts())
          raise(ErrorKind::config, "{}: contains prompts with completions, but train mlm needs plain texts", file);
        texts.push_back(document->text);
      }
      print_notes(reader.notes());
    } else {
      text::LineReader lines(file);
      while (const auto line = lines.next())
        if (line->find_first_not_of(" \t") != line->npos) texts.push_back(std::string(*line));
      print_notes(lines.notes());
    }
    if (texts.empty()) raise(ErrorKind::config, "{}: the file has no text", file);
    return texts;
  }

  /// Reads the validation file, or moves some of the training lines out for validation.
  LongList<std::string> read_valid(LongList<std::string>& train) const {
    if (!options_.valid.empty()) return read_file(options_.valid);
    const std::vector<bool> taken = draw_part(train.size(), setup_.valid_fraction(), options_.run.seed, options_.data);
    LongList<std::string> left, valid;
    for (size_t i = 0; i < train.size(); ++i) (taken[i] ? valid : left).push_back(train[i]);
    train = std::move(left);
    return valid;
  }

  EncodedLines encode(const LongList<std::string>& texts, const std::string& name) const {
    EncodedLines lines;
    int64_t skipped = 0;
    for (const std::string& text : texts)
      for (const std::vector<int64_t>& part : lines.tokens.parts(*tokenizer_, text, setup_.max_length()))
        if (mask_->has_words(part))
          lines.add(part);
        else
          ++skipped;
    if (lines.tokens.cut() > 0)
      out_ << fmt::format("{}: {} of {} lines longer than {} tokens were split\n", name, lines.tokens.cut(),
                          texts.size(), setup_.max_length());
    if (skipped > 0) out_ << fmt::format("{}: {} lines skipped: only special tokens\n", name, skipped);
    print_notes(lines.tokens.unknown(name));
    if (lines.ids.empty()) raise(ErrorKind::config, "{}: the file has no text", name);
    return lines;
  }

  /// Line i of an epoch of n lines is example epoch n + i: its mask depends on both.
  std::vector<std::vector<int64_t>> plan(int64_t epoch) const {
    auto batches = setup_.plan(examples_.train.lengths, epoch);
    for (std::vector<int64_t>& batch : batches)
      for (int64_t& line : batch) line += epoch * std::ssize(examples_.train.ids);
    return batches;
  }

  MaskedBatch training_batch(const std::vector<int64_t>& examples) const {
    const int64_t lines = std::ssize(examples_.train.ids);
    std::vector<int64_t> which;
    which.reserve(examples.size());
    for (const int64_t example : examples) which.push_back(example % lines);
    return masked(examples_.train, which, examples.front() / lines);
  }

  MaskedBatch masked(const EncodedLines& lines, const std::vector<int64_t>& which, int64_t epoch) const {
    MaskedBatch batch{pad_lines(lines, which, std::max<int64_t>(model_->base->options().padding_id, 0))};
    for (size_t row = 0; row < which.size(); ++row) {
      const MaskedLine line = (*mask_)(lines.ids[static_cast<size_t>(which[row])], epoch, which[row]);
      const int64_t at = static_cast<int64_t>(row) * batch.length;
      std::ranges::copy(line.ids, batch.ids.begin() + at);
      for (const int64_t place : line.places) batch.places.push_back(at + place);
      batch.words.insert(batch.words.end(), line.words.begin(), line.words.end());
    }
    return batch;
  }

  /// Logits [N, V] of the tokens to predict.
  Tensor logits_of(const MaskedBatch& b) {
    const Tensor seen = from_vector(b.seen, {b.rows, b.length});
    return nn::call_method(*model_, &models::MaskedLanguageModel::at, from_vector(b.ids, {b.rows, b.length}),
                           Mask::padding(seen, 0), from_vector(b.places, {std::ssize(b.places)}));
  }

  LossBounds loss_bounds() const override { return {.classes = model_->base->vocab()}; }

  BatchLoss training_loss(const MaskedBatch& b) override {
    return {cross_entropy(logits_of(b), from_vector(b.words, {std::ssize(b.words)})), std::ssize(b.words)};
  }

  /// The most likely token of the tokenizer (a model's table may have more rows); on a tie, the first of them.
  std::vector<int64_t> said_of(const Tensor& logits) const {
    const auto values = logits.to_vector<float>();
    std::vector<int64_t> said;
    for (auto row = values.begin(); row != values.end(); row += logits.size(1))
      said.push_back(std::max_element(row, row + tokenizer_->vocab_size()) - row);
    return said;
  }

  Evaluation evaluate() override {
    struct Sums {
      LossSum loss;
      double right;
    };
    std::vector<LossSum> losses;
    double right = 0, words = 0;
    for (const Sums& sums : map_over_ranks(ranks(), valid_batches_.size(), [&](size_t i) -> Sums {
           const std::vector<int64_t>& lines = valid_batches_[i];
           Sums of{{}, 0};
           for_valid_parts(std::ssize(lines), [&](int64_t first, int64_t rows) {
             const MaskedBatch batch =
                 masked(examples_.valid, {lines.begin() + first, lines.begin() + first + rows}, TokenMask::kValidation);
             const Tensor logits = logits_of(batch);
             const std::vector<int64_t> said = said_of(logits);
             of.loss += summed(
                 {cross_entropy(logits, from_vector(batch.words, {std::ssize(batch.words)})), std::ssize(batch.words)});
             for (size_t n = 0; n < said.size(); ++n) of.right += said[n] == batch.words[n] ? 1 : 0;
           });
           return of;
         })) {
      losses.push_back(sums.loss);
      right += sums.right;
      words += sums.loss.tokens;
    }
    const double loss = mean_loss(losses);
    const RandomSample sample = random_sample(examples_.valid.ids.size(), 8, options_.run.seed, "validation lines");
    return {.loss = loss,
            .metrics = {{"perplexity", std::exp(loss)}, {"accuracy", right / words}},
            .score = -loss,
            .draw_samples = [this, places = sample.places] { return samples_of(places); },
            .drawn = sample.drawn};
  }

  std::vector<Sample> samples_of(const std::vector<size_t>& lines) {
    std::vector<Sample> samples;
    samples.reserve(lines.size());
    for (const size_t line : lines) samples.push_back(sample_of(static_cast<int64_t>(line)));
    return samples;
  }

  /// A sample: the masked input, the original words, and the predictions.
  Sample sample_of(int64_t line) {
    const MaskedBatch batch = masked(examples_.valid, {line}, TokenMask::kValidation);
    const auto words = [this](const std::vector<int64_t>& ids) {
      std::string all;
      for (const int64_t id : ids) all += fmt::format("{}{}", all.empty() ? "" : " | ", tokenizer_->decode({{id}}));
      return all;
    };
    return {tokenizer_->decode(batch.ids, false), words(batch.words), words(said_of(logits_of(batch)))};
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    add_encoder_settings(json, options_.records ? to_string(*options_.records) : "lines", {options_.text_field});
    json["mask_share"] = options_.mask_share;
  }

  std::unique_ptr<TokenMask> mask_;
  Examples examples_;
  std::vector<std::vector<int64_t>> valid_batches_;
};

}  // namespace

MaskedLMResult train_masked_lm(const MaskedLMOptions& options, std::ostream& out, const TerminalInfo& terminal) {
  MaskedLMResult result{.run = train_encoder<MaskedLMTask>(options, out, terminal)};
  if (const auto& evaluation = result.run.evaluation) {
    result.valid_loss = evaluation->loss;
    result.valid_accuracy = evaluation->metrics.at("accuracy");
  }
  return result;
}

Diagnosis examine_masked_lm(const MaskedLMOptions& options, std::ostream& out) {
  return MaskedLMTask(options, nullptr, out).examine();
}

}  // namespace tape::train
