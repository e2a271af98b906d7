#include "train/tasks/encoder_setup.h"

#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "text/train_byte_level_bpe.h"
#include "train/runs/settings.h"

namespace tape::train {

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
      init_ ? models::parts_of(*init_).max_length : options_.max_length.value_or(preset_.max_length);
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
  Communicator& ranks = ranks_or_alone(options_.run->ranks);
  json["data"] = file_setting(options_.data, ranks);
  json["valid"] = file_setting(options_.valid, ranks);
  if (options_.valid.empty()) json["valid_fraction"] = valid_fraction();
  if (init_) {
    // Its weights are in the checkpoint.
    json["init"] = file_setting(fmt::format("{}/config.json", options_.init));
    if (options_.new_head) json["new_head"] = *options_.new_head;
    json["freeze"] = options_.freeze.value_or(0);
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
