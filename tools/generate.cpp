#include "tools/commands.h"

#include <memory>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/tape/scope.h"
#include "base/utf8.h"
#include "models/decoding/generate.h"
#include "models/decoding/prompt.h"
#include "models/decoding/target_start.h"
#include "models/decoding/text_streamer.h"
#include "models/folders/folder.h"
#include "models/folders/tokenizer_fit.h"
#include "text/corpus/padding_in_texts.h"
#include "text/json.h"
#include "text/tokenizers/chat_template.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/stream_decoder.h"
#include "tools/dropped_text.h"
#include "tools/terminal/lines.h"

namespace tape::tools {
namespace {

struct GenerateArguments {
  std::string model;
  std::optional<std::string> prompt;
  std::optional<uint64_t> seed;
  int64_t count = 1, batch = 32;
  bool continuation_only = false, chat = false, no_thinking = false;
  std::optional<std::string> system;
  models::GenerateOptions options;
  Common common;
};

class Writer {
 public:
  explicit Writer(GenerateArguments& arguments)
      : arguments_(arguments),
        model_(models::load_model(arguments.model)),
        reader_(dynamic_cast<models::EncoderDecoder*>(&models::module_of(model_))),
        continuer_(dynamic_cast<models::CausalLM*>(&models::module_of(model_))),
        tokenizer_(text::load_tokenizer(arguments.model)),
        dropped_(*tokenizer_),
        streamer_(*tokenizer_,
                  [this](std::string_view text) {
                    out_.write(text);
                    out_.flush();
                  }),
        next_seed_(arguments.seed ? *arguments.seed : std::random_device()()) {
    models::module_of(model_).prepare_for_inference();
    if (arguments_.chat) chat_ = text::ChatTemplate::load(arguments_.model);
    if (reader_ == nullptr && continuer_ == nullptr)
      raise(ErrorKind::config, "{}/config.json: is a {}, expected a model that generates text", arguments.model,
            models::module_of(model_).type_name());
    const text::Tokenizer& said = tokenizer_->target();
    if (reader_) models::check_tokenizer_fits(arguments.model, *tokenizer_, "src_vocab", reader_->options().src_vocab);
    models::check_tokenizer_fits(arguments.model, said, reader_ ? "tgt_vocab" : "vocab_size",
                                 reader_ ? reader_->options().tgt_vocab : continuer_->vocab());
    arguments_.options.vocabulary = said.vocab_size();
    tell(models::note_of(reader_ ? reader_->search : continuer_->search, arguments.model));
    if (!reader_) return;
    const models::TargetStart start = models::target_start(*reader_, *tokenizer_);
    arguments_.options.bos = start.bos, arguments_.options.forced_bos = start.forced_bos;
  }

  /// `where` names the prompt in errors.
  void add(const std::string& text, const std::string& where) {
    dropped_.add(text);
    const std::vector<int64_t> ids = encoded(text);
    const bool needs_text = reader_ || !continuer_->options().bos_id;
    if (ids.empty() && needs_text) {
      dropped_.report();
      raise(ErrorKind::config, "{}: empty, {}", where,
            reader_ ? "but the model's encoder needs text" : "and the model has no bos_token_id to start from");
    }
    for (int64_t i = 0; i < arguments_.count; ++i) {
      prompts_.push_back({text, ids});
      if (std::ssize(prompts_) == arguments_.batch) run();
    }
  }

  void run() {
    if (prompts_.empty()) return;
    std::vector<std::vector<int64_t>> ids;
    ids.reserve(prompts_.size());
    for (const auto& prompt : prompts_) ids.push_back(prompt.ids);
    arguments_.options.seed = next_seed_;
    if (arguments_.common.json) {
      const auto found = said_of(ids);
      for (size_t row = 0; row < found.size(); ++row) out_.write(json(row, found[row]));
      out_.flush();
    } else {
      std::vector<models::TextStreamer::Prompt> shown = prompts_;
      if (arguments_.continuation_only || chat_ || reader_)
        for (models::TextStreamer::Prompt& prompt : shown) prompt.text.clear();
      streamer_.begin(shown);
      arguments_.options.on_token = [this](int64_t row, std::optional<int64_t> token) { streamer_.push(row, token); };
      said_of(ids);
    }
    next_seed_ += prompts_.size();
    prompts_.clear();
  }

  /// Prints to standard error what was left out of the prompts.
  void report() const {
    dropped_.report();
    tell(padding_.note(*tokenizer_));
  }

 private:
  std::vector<models::Continuation> said_of(const std::vector<std::vector<int64_t>>& ids) {
    return reader_ ? models::generate(*reader_, ids, arguments_.options)
                   : models::generate(*continuer_, ids, arguments_.options);
  }

  /// Ids of a prompt; with --chat, of the conversation.
  std::vector<int64_t> encoded(const std::string& text) {
    if (chat_) {
      std::vector<text::ChatMessage> messages;
      if (arguments_.system) messages.push_back({"system", *arguments_.system});
      messages.push_back({"user", text});
      const auto thinking = arguments_.no_thinking ? text::Thinking::off : text::Thinking::allowed;
      return tokenizer_->encode(chat_->apply(messages, true, thinking), {.add_special_tokens = false}).ids;
    }
    if (!reader_) return models::prompt_ids(*tokenizer_, text);
    text::Encoding encoding = tokenizer_->encode(text);
    padding_.remove(encoding, reader_->options().padding_id);
    return encoding.ids;
  }

  std::string json(size_t row, const models::Continuation& found) const {
    text::StreamDecoder decoder(*tokenizer_, prompts_[row].ids);
    std::string text;
    for (const int64_t id : found.tokens) text += decoder.push(id);
    text += decoder.finish();
    const nlohmann::ordered_json line{
        {"prompt", prompts_[row].text}, {"text", text},           {"tokens", tokenizer_->tokens(found.tokens)},
        {"ids", found.tokens},          {"ended", found.stopped}, {"seed", next_seed_ + row}};
    return dump_json(line) + '\n';
  }

  GenerateArguments& arguments_;
  models::AnyModel model_;
  models::EncoderDecoder* reader_;  // one of these two is null
  models::CausalLM* continuer_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  DroppedText dropped_;
  std::optional<text::ChatTemplate> chat_;
  Output out_;
  models::TextStreamer streamer_;
  std::vector<models::TextStreamer::Prompt> prompts_;
  uint64_t next_seed_;
  text::PaddingInTexts padding_;
};

/// Before the prompt is printed.
void check_lengths(const models::GenerateOptions& options) {
  if (options.min_new_tokens.value_or(0) > options.max_new_tokens)
    raise(ErrorKind::config, "generate: --min-new-tokens must be at most --max-new-tokens, {}, got {}",
          options.max_new_tokens, *options.min_new_tokens);
}

int generate(GenerateArguments& arguments) {
  prepare(arguments.common);
  const DeviceScope on_device = use_device(arguments.common);
  models::check(arguments.options.sampling);
  check_lengths(arguments.options);
  const MatmulPrecisionScope precision(arguments.common.matmul_precision());
  if (arguments.prompt && !valid_utf8(*arguments.prompt)) raise(ErrorKind::format, "--prompt: not UTF-8");
  Writer writer(arguments);
  if (arguments.prompt) {
    writer.add(*arguments.prompt, "--prompt");
    writer.run();
    writer.report();
    return 0;
  }
  LineReader in;
  for (auto lines = in.next(arguments.batch); !lines.empty(); lines = in.next(arguments.batch)) {
    int64_t number = in.count() - std::ssize(lines);
    for (const std::string& line : lines) writer.add(line, fmt::format("standard input: line {}", ++number));
    writer.run();
  }
  writer.report();
  return 0;
}

void add_sampling(Command& command, models::SamplingOptions& sampling) {
  command.option("--temperature", sampling.temperature, "Divisor of the logits; 0: always the most likely token")
      .at_least(0);
  command.option("--top-k", sampling.top_k, "Sample from the k most likely tokens; 0: all").at_least(0);
  command.option("--top-p", sampling.top_p, "Sample from the most likely tokens whose probabilities sum to this")
      .within(0, 1);
  command.option("--min-p", sampling.min_p, "Minimum probability relative to the most likely token").within(0, 1);
  command.option("--repetition-penalty", sampling.repetition_penalty, "Above 1: earlier tokens become less likely")
      .above(0);
}

}  // namespace

void add_generate(Command app) {
  const auto arguments = std::make_shared<GenerateArguments>();
  Command command = app.subcommand("generate", "Continue a text, or each line of standard input");
  command.footer(
      "Prints the prompt and its continuation as it is generated, with a line --- between several texts. A model with\n"
      "an encoder (T5, BART, ...) reads the prompt, and only its output is printed. End tokens, no_repeat_ngram_size\n"
      "and min_new_tokens default to generation_config.json. Keys in it that would change the text but are not\n"
      "supported are reported.\n"
      "Text i is sampled with seed + i. Beyond the model's maximum length the window slides, which is slower.\n"
      "Example: tapeformer generate --model gpt2 --prompt \"Once upon a time\" --temperature 0.8 --top-p 0.95");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and tokenizer").required();
  command.option("--prompt", arguments->prompt, "Text to continue; by default each line of standard input");
  add_sampling(command, arguments->options.sampling);
  command.option("--seed", arguments->seed, "Random seed; by default a different one each time");
  command.option("--max-new-tokens", arguments->options.max_new_tokens, "Maximum tokens to generate").at_least(0);
  command
      .option("--min-new-tokens", arguments->options.min_new_tokens,
              "Minimum tokens to generate; default: the model's, else 0")
      .at_least(0);
  command
      .option("--no-repeat-ngram", arguments->options.no_repeat_ngram,
              "Generate no sequence of this many tokens twice; 0: no limit; default: the model's, else 0")
      .at_least(0);
  command.option("--count", arguments->count, "Texts for each prompt").at_least(1);
  command.option("--batch", arguments->batch, "Texts per batch").at_least(1);
  Option chat =
      command.flag("--chat", arguments->chat,
                   "Treat the prompt as a user message: apply the model's chat template and print the answer");
  command.option("--system", arguments->system, "With --chat: system message").needs(chat);
  command.flag("--no-thinking", arguments->no_thinking, "With --chat: answer without thinking first (Qwen 3)")
      .needs(chat);
  command.flag("--continuation-only", arguments->continuation_only, "Do not print the prompt");
  command.flag("--json", arguments->common.json,
               "Print one JSON object per text: prompt, text (the continuation), tokens, ids, ended, seed");
  add_threads(command, arguments->common);
  add_device(command, arguments->common);
  add_precision(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return generate(*arguments); }); });
}

}  // namespace tape::tools
