#include "train/tasks/translation.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "base/check.h"
#include "models/decoding/target_start.h"
#include "models/encoder_decoders/transformer.h"
#include "models/encoder_decoders/translate.h"
#include "models/encoder_decoders/translator.h"
#include "text/corpus/batch.h"
#include "text/corpus/batch_plan.h"
#include "text/corpus/corpus.h"
#include "text/corpus/padding_in_texts.h"
#include "text/scores/bleu.h"
#include "text/tokenizers/marian.h"
#include "text/tokenizers/sentence_piece.h"
#include "text/tokenizers/train_sentence_piece.h"
#include "text/tokenizers/unknown_tokens.h"
#include "train/data/random_sample.h"
#include "train/init/trained_parameters.h"
#include "train/memory/model_memory.h"
#include "train/runs/settings.h"
#include "train/tasks/task_run.h"
#include "train/tasks/translation_preset.h"

namespace tape::train {
namespace {

/// Encoded pairs: sources with their end token, targets without the last label.
struct Pairs {
  LongList<std::vector<int64_t>> sources, targets;
  std::vector<text::ExampleLength> lengths;

  void parts(auto&& each) { each(sources), each(targets), each(lengths); }
};

struct TranslationBatch {
  text::PaddedBatch ids;
  int64_t tokens = 0;  // target tokens, including the ends
};

/// Trains a joint BPE; ids 0 to 2 are end, padding and unknown. SentencePiece needs the text in memory, so of 256 MiB
/// and more only every second pair is used, or every third, ...
std::unique_ptr<text::Marian> train_tokenizer(const text::ParallelCorpus& corpus, int64_t vocab_size,
                                              const std::string& normalization) {
  constexpr int64_t kAtMost = 256 << 20;
  const auto step = static_cast<size_t>((corpus.source.bytes() + corpus.target.bytes()) / kAtMost + 1);
  std::vector<std::string> lines;
  for (const auto* side : {&corpus.source, &corpus.target})
    for (size_t i = 0; i < side->size(); i += step) lines.push_back((*side)[i]);
  const auto pieces = text::train_sentencepiece(lines, {.vocab_size = vocab_size,
                                                        .exact_size = false,
                                                        .kind = text::SentencePieceKind::bpe,
                                                        .character_coverage = 1,
                                                        .normalization = normalization,
                                                        .pad_id = 1,
                                                        .eos_id = 0,
                                                        .unk_id = 2});
  text::Marian::Parts parts{.source_spm = pieces->bytes(), .target_spm = pieces->bytes(), .vocabulary = {}};
  for (int64_t id = 0; id < pieces->vocab_size(); ++id) parts.vocabulary.emplace_back(pieces->token(id), id);
  return text::Marian::from_parts(std::move(parts));
}

/// A translation run, without its loop.
class TranslationTask : public TaskRun<TranslationBatch, models::EncoderDecoder> {
 public:
  TranslationTask(const TranslationOptions& options, const RunFolder* folder, std::ostream& out)
      : TaskRun("translation", options.run, out),
        options_(options),
        preset_(translation_preset(options)),
        bleu_{.tokenizer = text::bleu_tokenizer(options.bleu_tokenizer)} {
    apply_options(preset_.recipe, options.run);  // rejects invalid options before anything is read
    check_at_least_one("train translation", {{"layers", options.layers.value_or(1)},
                                             {"width", options.width.value_or(1)},
                                             {"heads", options.heads.value_or(1)}});
    if (options.max_length < 2)
      raise(ErrorKind::config, "train translation: max_length must be at least 2, got {}", options.max_length);
    if (!(options.time_budget >= 0))
      raise(ErrorKind::config, "train translation: time_budget must not be negative, got {}", options.time_budget);
    if (!options.init.empty()) read_init();
    text::ParallelCorpus train, valid;
    if (ranks().is_root()) {
      train = read_parallel_files(options.train, "training"), valid = read_parallel_files(options.valid, "validation");
      print_notes(train.notes);
      print_notes(valid.notes);
    }
    take_tokenizer(folder, [&]() -> std::unique_ptr<text::Tokenizer> {
      if (init_tokenizer_) return std::move(init_tokenizer_);
      return train_tokenizer(train, vocab_size(), options_.normalization);
    });
    begin_labels();
    examples_ = share<Examples>(folder, [&] {
      return Examples{.train = encode(train, options.train),
                      .valid = encode(valid, options.valid),
                      .valid_source = std::move(valid.source),
                      .valid_reference = {valid.target.begin(), valid.target.end()}};
    });
    check_some_pair_fits();
    recipe_ = apply_options(preset_.recipe, options.run, std::ssize(plan(0).batches));
    plan_valid();
    make_model();
    loader_ = std::make_unique<Loader<TranslationBatch>>(LoaderOptions<TranslationBatch>{
        .plan = [this](int64_t epoch) { return plan(epoch).batches; },
        .collate = [this](const std::vector<int64_t>& indices) { return collate(examples_.train, indices); }});
    fit_time(folder);
    make_adam({.betas = {0.9, 0.98}, .eps = 1e-9});
    schedule_ = std::make_unique<optim::CosineSchedule>(
        *adam_, optim::CosineOptions{.warmup = recipe_.warmup, .total = recipe_.steps, .min_lr = recipe_.lr / 100});
    print_sizes();
  }
  ~TranslationTask() override { stop_loading(); }

 private:
  /// Training and validation data.
  struct Examples {
    Pairs train, valid;
    LongList<std::string> valid_source;
    std::vector<std::string> valid_reference;

    void parts(auto&& each) { train.parts(each), valid.parts(each), each(valid_source), each(valid_reference); }
  };

  uint64_t seed() const { return options_.run.seed; }
  double smoothing() const { return options_.label_smoothing.value_or(0.1); }
  int64_t pad() const { return model_ ? model_->options().padding_id : tokenizer_->special().pad; }
  int64_t vocab_size() const { return options_.vocab_size.value_or(preset_.vocab_size); }
  nn::NormPlace norm() const { return options_.norm.value_or(preset_.norm); }
  /// First decoder input: as in Marian (post-norm) the padding token, as in M2M100 (pre-norm), whose padding has no
  /// position, the end token.
  int64_t bos() const {
    if (model_) return model_->options().bos_id;
    return norm() == nn::NormPlace::pre ? eos() : pad();
  }
  int64_t eos() const { return model_ ? model_->options().eos_id : tokenizer_->special().eos; }
  bool has_init() const { return !options_.init.empty(); }

  /// Reads the model to start from, and its tokenizer.
  void read_init() {
    models::Translator init = models::load_translator(options_.init, options_.languages);
    model_ = std::move(init.model), init_tokenizer_ = std::move(init.tokenizer);
    const std::optional<int64_t> most = model_->max_length();
    if (most && options_.max_length > *most)
      raise(ErrorKind::config, "train translation: max_length must be at most {}, the positions of {}, got {}", *most,
            options_.init, options_.max_length);
  }

  /// A target's labels are what its tokenizer outputs; they all end with the same token.
  void begin_labels() {
    const std::vector<int64_t> around = tokenizer_->target().encode("").ids;
    writes_end_ = std::ranges::find(around, eos()) != around.end();
    last_label_ = writes_end_ ? around.back() : eos();
  }

  void make_model() {
    manual_seed(seed());
    if (has_init()) {
      if (!options_.freeze.empty()) freeze_parameters(*model_, options_.freeze);
      model_->train();
      return;
    }
    check_memory("train translation", parameter_count(config()), options_.run);
    model_ = std::make_unique<models::Transformer>(config());
  }

  /// If time does not suffice, uses the recipe of a run with fewer steps.
  void fit_time(const RunFolder* folder) {
    planned_ = plan_steps_together(folder, recipe_.steps, options_.time_budget);
    if (planned_.steps == planned_.asked) return;
    TaskOptions fewer = options_.run;
    fewer.epochs = {};
    fewer.steps = planned_.steps;
    recipe_ = apply_options(preset_.recipe, fewer);
  }

  text::BatchOptions batching() const {
    return {.max_tokens = options_.batch_tokens.value_or(preset_.batch_tokens),
            .max_source_length = options_.max_length,
            .max_target_length = options_.max_length};
  }

  /// A configuration that transformers has a class for: M2M100 with pre-norm, Marian with post-norm.
  models::TransformerConfig config() const {
    const int64_t vocab = tokenizer_->vocab_size();
    const int64_t width = options_.width.value_or(preset_.d_model);
    const bool pre = norm() == nn::NormPlace::pre;
    return {.src_vocab = vocab,
            .tgt_vocab = vocab,
            .d_model = width,
            .layers = options_.layers.value_or(preset_.layers),
            .heads = options_.heads.value_or(preset_.heads),
            .d_ff = width * preset_.d_ff / preset_.d_model,
            .dropout = recipe_.dropout,
            .attention_dropout = 0,
            .activation_dropout = 0,
            .norm = norm(),
            .max_length = options_.max_length,
            .positions = pre ? nn::SinusoidLayout::fairseq : nn::SinusoidLayout::halves,
            .position_offset = pre ? pad() + 1 : 0,
            .padding_id = pad(),
            .bos_id = bos(),
            .eos_id = eos(),
            .share_embeddings = true,
            .tie_output = true};
  }

  /// Throws Error (config) if every pair is longer than a limit.
  void check_some_pair_fits() const {
    const text::BatchOptions most = batching();
    const int64_t longest = std::min(most.max_tokens, most.max_source_length);
    if (examples_.train.lengths.empty() || std::ranges::any_of(examples_.train.lengths, [&](const auto& pair) {
          return std::max(pair.source, pair.target) <= longest;
        }))
      return;
    raise(ErrorKind::config, "train translation: all {} pairs are longer than batch_tokens, {}, or max_length, {}",
          examples_.train.lengths.size(), most.max_tokens, most.max_source_length);
  }

  text::BatchPlan plan(int64_t epoch) const {
    return text::plan_batches(examples_.train.lengths, batching(), seed(), epoch);
  }

  Pairs encode(const text::ParallelCorpus& corpus, const ParallelFiles& files) const {
    Pairs pairs;
    text::UnknownTokens unknown;
    text::PaddingInTexts padding;
    const auto encoded = [&unknown](const text::Tokenizer& tokenizer, const std::string& line) {
      text::Encoding encoding = tokenizer.encode(line);
      unknown.add(tokenizer, encoding, line);
      return encoding;
    };
    for (int64_t i = 0; i < corpus.size(); ++i) {
      const size_t at = static_cast<size_t>(i);
      const std::string line = options_.prefix + corpus.source[at];
      text::Encoding source = encoded(*tokenizer_, line), target = encoded(tokenizer_->target(), corpus.target[at]);
      const int64_t length = std::ssize(source.ids);
      // A longer source is in no batch, but as much of it as fits is translated.
      if (length > options_.max_length) source = tokenizer_->encode(line, {.max_length = options_.max_length});
      for (text::Encoding* const side : {&source, &target}) padding.remove(*side, pad());
      if (writes_end_) target.ids.pop_back();
      pairs.sources.push_back(source.ids);
      pairs.targets.push_back(target.ids);
      pairs.lengths.push_back({length, std::ssize(target.ids) + 1});
    }
    for (const std::string& note : {unknown.note(), padding.note(*tokenizer_)})
      if (!note.empty()) out_ << fmt::format("{}: {}\n", name_of(files), note);
    return pairs;
  }

  TranslationBatch collate(const Pairs& pairs, const std::vector<int64_t>& indices) const {
    std::vector<std::vector<int64_t>> sources, targets;
    TranslationBatch batch;
    for (const int64_t i : indices) {
      sources.push_back(pairs.sources[static_cast<size_t>(i)]);
      targets.push_back(pairs.targets[static_cast<size_t>(i)]);
      batch.tokens += std::ssize(targets.back()) + 1;
    }
    const int64_t first = model_->options().wraps_last_token ? last_label_ : bos();
    batch.ids = text::pad_batch(sources, targets, {.pad = pad(), .bos = first, .eos = last_label_});
    return batch;
  }

  BatchLoss loss(const TranslationBatch& batch, double label_smoothing) {
    const text::PaddedBatch& b = batch.ids;
    const CrossEntropyOptions options{.ignore_index = pad(), .label_smoothing = label_smoothing};
    const Tensor src = from_vector(b.src, {b.batch, b.src_length}), in = from_vector(b.tgt_in, {b.batch, b.tgt_length});
    return {nn::call_method(*model_, &models::EncoderDecoder::loss, src, in,
                            from_vector(b.tgt_out, {b.batch, b.tgt_length}), options),
            batch.tokens};
  }

  /// Also saves how targets of the language begin.
  void save_model(const std::string& folder) override {
    models::save(folder, *model_, {.target_start = models::target_start(*model_, *tokenizer_)});
  }

  BatchLoss training_loss(const TranslationBatch& batch) override { return loss(batch, smoothing()); }

  LossBounds loss_bounds() const override {
    return {.classes = model_->options().tgt_vocab, .label_smoothing = smoothing()};
  }

  Evaluation evaluate() override {
    const std::vector<LossSum> batches = map_over_ranks(ranks(), valid_plan_.size(), [this](size_t i) {
      const std::vector<int64_t>& batch = valid_plan_[i];
      LossSum sum;
      for_valid_parts(std::ssize(batch), [&](int64_t first, int64_t rows) {
        sum += summed(loss(collate(examples_.valid, {batch.begin() + first, batch.begin() + first + rows}), 0));
      });
      return sum;
    });
    const std::vector<std::string> said = translate_valid();
    const double bleu = text::bleu(said, examples_.valid_reference, bleu_).score;
    // The lower loss breaks ties of BLEU, for example if all translations are exact.
    const double loss = mean_loss(batches);
    Evaluation evaluation{.loss = loss, .metrics = {{"bleu", bleu}}, .score = bleu - 1e-6 * loss};
    const RandomSample sample = random_sample(said.size(), 8, seed(), "validation pairs");
    for (const size_t i : sample.places)
      evaluation.samples.push_back({examples_.valid_source[i], examples_.valid_reference[i], said[i]});
    evaluation.drawn = sample.drawn;
    return evaluation;
  }

  std::vector<std::string> translate_valid() {
    const auto greedy = models::translate_options(*model_, *tokenizer_,
                                                  {.beams = 1, .batch_tokens = valid_batch_tokens(), .scores = false});
    const auto said_of = [&](const std::vector<std::vector<int64_t>>& sources) {
      std::vector<std::string> said;
      for (const auto& found : models::translate(*model_, sources, greedy))
        said.push_back(found.empty() ? "" : tokenizer_->target().decode(found.front().tokens));
      return said;
    };
    return gather_shares(ranks(), map_share(ranks(), examples_.valid.sources, said_of), examples_.valid.sources.size());
  }

  void plan_valid() {
    const text::BatchPlan plan = text::plan_sorted_batches(examples_.valid.lengths, batching());
    valid_plan_ = plan.batches;
    const std::string note = text::skipped_note(plan, examples_.valid.lengths, name_of(options_.valid));
    if (!note.empty()) out_ << note << " (in the loss; BLEU includes all pairs)\n";
  }

  void print_sizes() const {
    const text::BatchPlan first = plan(0);
    if (const std::string note = text::skipped_note(first, examples_.train.lengths, name_of(options_.train));
        !note.empty())
      out_ << note << "\n";
    out_ << fmt::format(
        "{} training pairs, {} validation pairs, vocabulary of {} tokens, {} batches per epoch; {} parameters\n",
        examples_.train.lengths.size() - first.skipped.size(), examples_.valid.lengths.size(), tokenizer_->vocab_size(),
        first.batches.size(), model_->parameter_count());
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    const models::EncoderDecoderOptions& model = model_->options();
    const bool init = has_init();
    json["preset"] = preset_.name;
    for (const auto& [key, file] : {std::pair("src", options_.train.src),
                                    {"tgt", options_.train.tgt},
                                    {"tsv", options_.train.tsv},
                                    {"data", options_.train.records},
                                    {"valid_data", options_.valid.records},
                                    {"valid_src", options_.valid.src},
                                    {"valid_tgt", options_.valid.tgt},
                                    {"valid_tsv", options_.valid.tsv}})
      json[key] = file_setting(file, ranks());
    if (!options_.train.records.empty()) json["fields"] = {options_.train.fields.source, options_.train.fields.target};
    if (init) json["init"] = file_setting(fmt::format("{}/config.json", options_.init));
    if (init) json["freeze"] = options_.freeze;
    for (const auto& [key, text] : {std::pair("source_language", options_.languages.source),
                                    {"target_language", options_.languages.target},
                                    {"prefix", options_.prefix}})
      if (!text.empty()) json[key] = text;
    if (!init) json["vocab_size"] = vocab_size();
    json["batch_tokens"] = batching().max_tokens;
    json["max_length"] = options_.max_length;
    json["label_smoothing"] = smoothing();
    json["layers"] = model.layers;
    json["width"] = model.encoder.d_model;
    json["heads"] = model.encoder.heads;
    if (!init) json["norm"] = norm() == nn::NormPlace::pre ? "pre" : "post";
    json["bleu_tokenizer"] = options_.bleu_tokenizer;
    if (planned_.steps != planned_.asked) json["planned"] = planned_.setting();
  }

  const TranslationOptions& options_;
  const TranslationPreset& preset_;
  const text::BleuOptions bleu_;
  std::unique_ptr<text::Tokenizer> init_tokenizer_;
  bool writes_end_ = true;  // whether the tokenizer appends an end token to a target
  int64_t last_label_ = 0;
  Examples examples_;
  PlannedSteps planned_;
  std::vector<std::vector<int64_t>> valid_plan_;
};

}  // namespace

TranslationResult train_translation(const TranslationOptions& options, std::ostream& out,
                                    const TerminalInfo& terminal) {
  const auto folder =
      open_run_folder(options.run.ranks, options.run.out, options.run.start,
                      inputs_of_run({options.train.src, options.train.tgt, options.train.tsv, options.train.records,
                                     options.valid.src, options.valid.tgt, options.valid.tsv, options.valid.records},
                                    options.init));
  TranslationTask task(options, folder.get(), out);
  TranslationResult result{.run = task.train(folder, terminal)};
  if (result.run.evaluation) {
    result.valid_loss = result.run.evaluation->loss;
    result.valid_bleu = result.run.evaluation->metrics.at("bleu");
  }
  return result;
}

Diagnosis examine_translation(const TranslationOptions& options, std::ostream& out) {
  return TranslationTask(options, nullptr, out).examine();
}

}  // namespace tape::train
