#include "train/tasks/encoder_setup.h"

#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/tokenizers/train_byte_level_bpe.h"
#include "train/init/init_settings.h"
#include "train/runs/settings.h"

namespace tape::train {
namespace {

/// Checks combinations of options.
void check(const EncoderTaskOptions& o) {
  const auto refuse = [&](bool given, const char* name, const char* why) {
    if (given) raise(ErrorKind::config, "{}: {} {}", o.task, name, why);
  };
  check_length(*o.run);
  refuse(!o.valid.empty() && o.valid_fraction, "valid_fraction", "cannot be combined with a validation file");
  check_at_least_one(o.task, {{"batch", o.batch.value_or(1)},
                              {"batch_tokens", o.batch_tokens.value_or(1)},
                              {"max_length", o.max_length.value_or(1)},
                              {"vocab_size", o.vocab_size.value_or(1)},
                              {"layers", o.layers.value_or(1)},
                              {"width", o.width.value_or(1)},
                              {"heads", o.heads.value_or(1)}});
  if (!o.init.empty())
    check_not_set_with_init(o.task, {{"vocab_size", o.vocab_size.has_value()},
                                     {"layers", o.layers.has_value()},
                                     {"width", o.width.has_value()},
                                     {"heads", o.heads.has_value()}});
  refuse(o.init.empty() && o.freeze, "freeze", "requires init: a model from scratch has nothing to freeze");
  refuse(o.init.empty() && o.adapters, "adapters", "require init: a base model to adapt");
  refuse(o.adapters && o.freeze, "freeze", "cannot be combined with adapters, which freeze the model already");
  if (o.adapters && models::is_adapter_folder(o.init))
    raise(ErrorKind::config,
          "{}: {} contains adapters, but new ones need a whole model; merge them with tapeformer merge", o.task,
          o.init);
  refuse(o.init.empty() && o.run->layer_decay, "layer_decay", "requires init");
  refuse(o.init.empty() && o.new_head.value_or(false), "new_head", "requires init");
}

}  // namespace

EncoderPresets encoder_presets(const EncoderDefaults& small, const EncoderDefaults& fine_tune) {
  const auto preset = [](const char* name, const EncoderDefaults& d) {
    return EncoderPreset{.name = name,
                         .epochs = d.epochs,
                         .batch = d.batch,
                         .max_length = d.max_length,
                         .recipe = {.lr = d.lr, .dropout = d.dropout, .weight_decay = 0.01, .clip_norm = 1}};
  };
  EncoderPreset from_scratch = preset("small", small);
  from_scratch.vocab_size = 4000;
  from_scratch.layers = 2;
  from_scratch.width = 128;
  from_scratch.heads = 4;
  const EncoderPreset with_init = preset("fine-tune", fine_tune);
  EncoderPreset adapters = with_init;
  adapters.name = "adapters";
  adapters.recipe.lr *= 10;
  adapters.recipe.weight_decay = 0;
  return {.from_scratch = {from_scratch}, .with_init = {with_init}, .with_adapters = {adapters}};
}

const EncoderPresets& classifier_presets() {
  static const auto& all = *new const EncoderPresets(
      encoder_presets({.epochs = 10, .batch = 32, .max_length = 256, .lr = 1e-3, .dropout = 0.2},
                      {.epochs = 3, .batch = 32, .max_length = 512, .lr = 2e-4}));
  return all;
}

const EncoderPreset& encoder_preset(const EncoderPresets& presets, const EncoderTaskOptions& options) {
  check(options);
  if (options.init.empty()) {
    check_needs_no_init(options.task, presets.with_init, options.run->preset);
    check_needs_no_init(options.task, presets.with_adapters, options.run->preset);
  }
  const auto& chosen = options.init.empty() ? presets.from_scratch
                       : options.adapters   ? presets.with_adapters
                                            : presets.with_init;
  return find_preset(options.task, chosen, options.run->preset);
}

Recipe encoder_recipe(const EncoderPreset& preset, const TaskOptions& options, int64_t batches,
                      std::optional<double> dropout) {
  Recipe recipe = preset.recipe;
  const int64_t accumulate = options.accumulate.value_or(1);
  recipe.steps = options.steps.value_or(steps_of(options.epochs.value_or(preset.epochs), batches, accumulate));
  recipe.warmup = recipe.steps / 10;
  recipe.evaluate_every = steps_of(1, batches, accumulate);
  if (dropout) recipe.dropout = *dropout;
  return apply_options(recipe, options, batches);
}

std::unique_ptr<text::ByteLevelBpe> train_encoder_tokenizer(const text::NextPiece& lines, int64_t vocab_size,
                                                            bool mask) {
  const std::string end = "<|endoftext|>", pad = "<|pad|>", hidden = mask ? "<mask>" : "";
  std::vector<std::string> special{end, pad};
  if (mask) special.push_back(hidden);
  const auto learned = text::train_byte_level_bpe(lines, {.vocab_size = vocab_size, .special_tokens = special});
  std::vector<int64_t> ids(static_cast<size_t>(learned->vocab_size()));
  std::iota(ids.begin(), ids.end(), 0);
  return std::make_unique<text::ByteLevelBpe>(
      learned->tokens(ids), learned->merges(),
      text::ByteLevelBpeOptions{.bos = end, .eos = end, .unk = end, .pad = pad, .mask = hidden});
}

EncoderSetup::EncoderSetup(EncoderTaskOptions options, const EncoderPresets& presets)
    : options_(std::move(options)), preset_(encoder_preset(presets, options_)) {}

int64_t EncoderSetup::max_length() const {
  const int64_t positions =
      init_ ? models::model_options(*init_).max_length : options_.max_length.value_or(preset_.max_length);
  const int64_t wanted = options_.max_length.value_or(positions);
  if (wanted > positions)
    raise(ErrorKind::config, "{}: max_length must be at most {}, the positions of {}, got {}", options_.task, positions,
          options_.init, wanted);
  return wanted;
}

text::BatchOptions EncoderSetup::batching() const {
  const int64_t rows = options_.batch.value_or(preset_.batch), longest = max_length();
  if (options_.batch_tokens && *options_.batch_tokens < longest)
    raise(ErrorKind::config, "{}: batch_tokens must be at least max_length, {}, got {}", options_.task, longest,
          *options_.batch_tokens);
  const int64_t most = std::numeric_limits<int64_t>::max();
  return {.max_tokens = options_.batch_tokens.value_or(rows > most / longest ? most : rows * longest),
          .max_sentences = rows};
}

std::vector<std::vector<int64_t>> EncoderSetup::plan(const std::vector<text::ExampleLength>& lengths,
                                                     int64_t epoch) const {
  return text::plan_batches(lengths, batching(), options_.run->seed, epoch).batches;
}

Recipe EncoderSetup::recipe(int64_t batches) const {
  std::optional<double> dropout;
  if (init_) dropout = std::visit([](const auto& encoder) { return encoder.dropout; }, *init_);
  return encoder_recipe(preset_, *options_.run, batches, dropout);
}

models::BertConfig EncoderSetup::from_scratch(const text::Tokenizer& tokenizer, double dropout) const {
  const int64_t width = options_.width.value_or(preset_.width);
  return {.vocab = tokenizer.vocab_size(),
          .d_model = width,
          .layers = options_.layers.value_or(preset_.layers),
          .heads = options_.heads.value_or(preset_.heads),
          .d_ff = 4 * width,
          .max_length = max_length(),
          .segments = 1,
          .dropout = dropout,
          .attention_dropout = dropout,
          .padding_id = tokenizer.special().pad};
}

void EncoderSetup::add_settings(nlohmann::ordered_json& json, const models::EncoderModelOptions& model) const {
  json["preset"] = preset_.name;
  Communicator& ranks = ranks_or_single(options_.run->ranks);
  json["data"] = file_setting(options_.data, ranks);
  json["valid"] = file_setting(options_.valid, ranks);
  if (options_.valid.empty()) json["valid_fraction"] = valid_fraction();
  if (init_) {
    // Checkpoints contain its weights, so only its configuration is a setting.
    json["init"] = file_setting(fmt::format("{}/config.json", options_.init));
    if (options_.new_head) json["new_head"] = *options_.new_head;
    // Frozen layers; with 0, only the embeddings are frozen.
    json["freeze"] = options_.freeze.value_or(0);
    if (options_.freeze == 0) json["freeze"] = "embeddings";
    if (options_.adapters) json.update(to_json(*options_.adapters, options_.init));
  } else {
    json["vocab_size"] = vocab_size();
  }
  json["batch"] = batching().max_sentences;
  json["batch_tokens"] = batching().max_tokens;
  json["max_length"] = max_length();
  json["layers"] = model.layers.size();
  json["width"] = model.layers.front().d_model;
  json["heads"] = model.layers.front().heads;
}

}  // namespace tape::train
