#include "models/sentence/sentence_encoder.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/loss/embedding_loss.h"
#include "models/heads/encoder_batches.h"
#include "text/tokenizers/steps/normalizer.h"

namespace tape::models {

SentenceEncoder::SentenceEncoder(const SentenceEncoderConfig& c)
    : base(this, model_options(c.encoder).family, options_without_pooler(c.encoder)),
      modules(this, "modules"),
      config_(c) {
  if (c.pooling.empty()) raise(ErrorKind::config, "SentenceEncoder: needs at least one pooling");
  int64_t width = base->width() * std::ssize(c.pooling);
  for (const SentenceModuleOptions& module : c.modules) {
    const bool any_width = module.kind == SentenceModuleKind::normalize || module.kind == SentenceModuleKind::dropout;
    if (!any_width && module.in != width)
      raise(ErrorKind::config,
            "SentenceEncoder: module {} takes vectors of width {}, but those before it have width {}", modules.size(),
            module.in, width);
    modules.emplace_back(module);
    if (!any_width) width = module.out;
  }
}

int64_t SentenceEncoder::width() const {
  for (int64_t i = modules.size(); i-- > 0;)
    if (modules[i]->options().out > 0) return modules[i]->options().out;
  return base->width() * std::ssize(config_.pooling);
}

int64_t SentenceEncoder::max_tokens() const {
  return std::min(config_.text.max_tokens.value_or(base->max_length()), base->max_length());
}

Tensor SentenceEncoder::forward(const Tensor& ids, const Mask& mask, const Tensor& segments, int64_t prompt_tokens) {
  const Tensor hidden = base(ids, mask, segments);
  Tensor x = sentence_pool(hidden, mask, config_.pooling, config_.include_prompt ? 0 : prompt_tokens);
  for (int64_t i = 0; i < modules.size(); ++i) x = modules[i](x);
  return config_.normalize ? normalize(x, -1) : x;
}

Tensor SentenceEncoder::forward(const Tensor& ids) { return forward(ids, base->padding(ids)); }

Tensor embed(SentenceEncoder& model, std::span<const std::vector<int64_t>> sequences, const EmbedOptions& options) {
  const DeviceScope on_model(model.device());
  const int64_t width = model.width();
  std::vector<double> rows(sequences.size() * static_cast<size_t>(width));
  for_each_row(
      "embed", *model.base, {sequences}, options.batch_tokens,
      [&](const Tensor& ids, const Mask& mask, const Tensor& segments) {
        return model(ids, mask, segments, options.prompt_tokens);
      },
      [&](size_t place, std::span<const double> row) {
        std::ranges::copy(row, rows.begin() + static_cast<int64_t>(place) * width);
      });
  return from_vector(rows, {std::ssize(sequences), width}, model.parameters().front().options());
}

std::string prepared(const SentenceTextOptions& options, const std::string& text) {
  if (!options.lowercase) return text;
  text::Normalized lower(text);
  text::lowercase_normalizer()(lower);
  return lower.text;
}

namespace {

/// The prompt that is prepended to texts.
std::string prompt_of(const SentenceTextOptions& text, const EmbedTextOptions& options) {
  if (options.prompt) return *options.prompt;
  const std::optional<std::string>& name = options.prompt_name ? options.prompt_name : text.default_prompt;
  if (!name) return {};
  const auto found = text.prompts.find(*name);
  if (found != text.prompts.end()) return found->second;
  std::string known;
  for (const auto& [prompt, _] : text.prompts) known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", prompt);
  raise(ErrorKind::config, "embed: the model has no prompt \"{}\"; it has {}", *name, known.empty() ? "none" : known);
}

}  // namespace

Tensor embed(SentenceEncoder& model, const text::Tokenizer& tokenizer, std::span<const std::string> texts,
             const EmbedTextOptions& options) {
  const SentenceTextOptions& settings = model.config().text;
  const std::string prompt = prompt_of(settings, options);
  const int64_t most = model.max_tokens();
  const auto as_read = [&](const std::string& text) { return prepared(settings, prompt + text); };
  std::vector<std::vector<int64_t>> sequences;
  for (const std::string& text : texts) {
    const std::string read = as_read(text);
    text::Encoding encoding = tokenizer.encode(read);
    const bool cut = std::ssize(encoding.ids) > most;
    if (options.on_text) options.on_text(read, encoding, cut);
    sequences.push_back(cut ? tokenizer.encode(read, {.max_length = most}).ids : std::move(encoding.ids));
  }
  int64_t prompt_tokens = 0;
  if (!prompt.empty() && !model.config().include_prompt) {
    // The end token is not part of the prompt.
    const std::vector<int64_t> ids = tokenizer.encode(as_read(""), {.max_length = most}).ids;
    prompt_tokens = std::ssize(ids) - (!ids.empty() && tokenizer.is_special(ids.back()) ? 1 : 0);
  }
  return embed(model, sequences, {.batch_tokens = options.batch_tokens, .prompt_tokens = prompt_tokens});
}

}  // namespace tape::models
