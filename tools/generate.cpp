#include "models/generate.h"

#include <memory>
#include <random>

#include <nlohmann/json.hpp>

#include "autograd/tape/scope.h"
#include "base/utf8.h"
#include "models/folder.h"
#include "text/stream_decoder.h"
#include "tools/commands.h"
#include "tools/lines.h"

namespace tape::tools {
namespace {

struct Arguments {
  std::string model;
  std::optional<std::string> prompt;
  std::optional<uint64_t> seed;
  int64_t count = 1, batch = 32;
  bool continuation_only = false;
  models::GenerateOptions options;
  Common common;
};

/// A prompt as it was given and as the model reads it.
struct Prompt {
  std::string text;
  std::vector<int64_t> ids;
};

/// Shows the texts of a batch in the order of their rows: the first that has not ended as it grows, those behind it
/// once their turn has come.
class Show {
 public:
  Show(const text::Tokenizer& tokenizer, const Arguments& arguments, Output& out)
      : tokenizer_(tokenizer), arguments_(arguments), out_(out) {}

  void begin(const std::vector<Prompt>& prompts) {
    rows_.clear();
    current_ = 0;
    for (const Prompt& prompt : prompts) {
      rows_.push_back({text::StreamDecoder(tokenizer_, prompt.ids)});
      if (!arguments_.continuation_only) rows_.back().text = prompt.text;
    }
    show();
  }

  void token(size_t row, std::optional<int64_t> token) {
    Row& r = rows_[row];
    r.text += token ? r.decoder.push(*token) : r.decoder.finish();
    r.ended = !token;
    show();
  }

 private:
  struct Row {
    text::StreamDecoder decoder;
    std::string text = "";  // not shown yet
    bool begun = false, ended = false;
  };

  void show() {
    for (; current_ < rows_.size(); ++current_) {
      Row& row = rows_[current_];
      if (!row.begun && !first_) out_.write("---\n");
      row.begun = true;
      first_ = false;
      out_.write(row.text);
      row.text.clear();
      if (!row.ended) break;
      out_.write("\n");
    }
    out_.flush();
  }

  const text::Tokenizer& tokenizer_;
  const Arguments& arguments_;
  Output& out_;
  std::vector<Row> rows_;
  size_t current_ = 0;
  bool first_ = true;  // of all texts
};

class Writer {
 public:
  explicit Writer(Arguments& arguments)
      : arguments_(arguments),
        model_(models::load<models::Gpt>(arguments.model)),
        tokenizer_(text::load_tokenizer(arguments.model)),
        show_(*tokenizer_, arguments_, out_),
        next_seed_(arguments.seed ? *arguments.seed : std::random_device()()) {
    const int64_t vocabulary = model_->config().vocab;
    if (tokenizer_->vocab_size() > vocabulary)
      raise(ErrorKind::config, "{}: the tokenizer has {} tokens, the model {} (vocab_size)", arguments.model,
            tokenizer_->vocab_size(), vocabulary);
    arguments_.options.vocabulary = tokenizer_->vocab_size();
  }

  /// `where` names the prompt in errors.
  void add(const std::string& text, const std::string& where) {
    const std::vector<int64_t> ids = encoded(text);
    if (ids.empty() && !model_->config().bos_id)
      raise(ErrorKind::config, "{}: empty, and the model has no bos_token_id to begin with", where);
    for (int64_t i = 0; i < arguments_.count; ++i) {
      prompts_.push_back({text, ids});
      if (std::ssize(prompts_) == arguments_.batch) run();
    }
  }

  void run() {
    if (prompts_.empty()) return;
    std::vector<std::vector<int64_t>> ids;
    for (const Prompt& prompt : prompts_) ids.push_back(prompt.ids);
    arguments_.options.seed = next_seed_;
    if (arguments_.common.json) {
      const auto found = models::generate(*model_, ids, arguments_.options);
      for (size_t row = 0; row < found.size(); ++row) out_.write(json(row, found[row]));
      out_.flush();
    } else {
      show_.begin(prompts_);
      arguments_.options.on_token = [this](int64_t row, std::optional<int64_t> token) {
        show_.token(static_cast<size_t>(row), token);
      };
      models::generate(*model_, ids, arguments_.options);
    }
    next_seed_ += prompts_.size();
    prompts_.clear();
  }

 private:
  /// Without the end that some tokenizers add: the text goes on.
  std::vector<int64_t> encoded(const std::string& text) const {
    text::Encoding encoding = tokenizer_->encode(text);
    size_t size = encoding.size();
    while (size > 0 && encoding.special_tokens_mask[size - 1] && encoding.ids[size - 1] != tokenizer_->special().bos)
      --size;
    encoding.ids.resize(size);
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
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
  }

  Arguments& arguments_;
  std::unique_ptr<models::Gpt> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  Output out_;
  Show show_;
  std::vector<Prompt> prompts_;
  uint64_t next_seed_;
};

int generate(Arguments& arguments) {
  prepare(arguments.common);
  models::check(arguments.options.sampling);
  const MixedPrecision precision(arguments.common.bf16());
  if (arguments.prompt && !valid_utf8(*arguments.prompt)) raise(ErrorKind::format, "--prompt: not UTF-8");
  Writer writer(arguments);
  if (arguments.prompt) {
    writer.add(*arguments.prompt, "--prompt");
    writer.run();
    return 0;
  }
  LineReader in;
  for (auto lines = in.next(arguments.batch); !lines.empty(); lines = in.next(arguments.batch)) {
    int64_t number = in.count() - std::ssize(lines);
    for (const std::string& line : lines) writer.add(line, fmt::format("standard input: line {}", ++number));
    writer.run();
  }
  return 0;
}

void add_sampling(Command& command, models::SamplingOptions& sampling) {
  command.option("--temperature", sampling.temperature, "Scores are divided by it; 0: always the likeliest token");
  command.option("--top-k", sampling.top_k, "Only the k likeliest tokens; 0: all");
  command.option("--top-p", sampling.top_p, "Only the fewest likeliest whose probabilities reach this");
  command.option("--min-p", sampling.min_p, "Only tokens with this share of the likeliest one's probability");
  command.option("--repetition-penalty", sampling.repetition_penalty,
                 "Above 1: tokens that were there before become less likely");
}

}  // namespace

void add_generate(Command app) {
  const auto arguments = std::make_shared<Arguments>();
  Command command = app.subcommand("generate", "Continues a text, or each line of standard input");
  command.footer(
      "Prints the prompt and what follows, as it comes; several texts have a line --- between them.\n"
      "Text i of a run is drawn with seed + i. Beyond the model's positions the window slides, and tokens come "
      "slower.\n"
      "Example: tapeformer generate --model gpt2 --prompt \"Once upon a time\" --temperature 0.8 --top-p 0.95");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and tokenizer").required();
  command.option("--prompt", arguments->prompt, "Text to continue; lines of standard input where not given");
  add_sampling(command, arguments->options.sampling);
  command.option("--seed", arguments->seed, "Of the draws; another one each time where not given");
  command.option("--max-new-tokens", arguments->options.max_new_tokens, "Tokens to say at most").at_least(0);
  command.option("--count", arguments->count, "Texts for each prompt").at_least(1);
  command.option("--batch", arguments->batch, "Texts computed at once").at_least(1);
  command.flag("--continuation-only", arguments->continuation_only, "Do not print the prompt");
  command.flag("--json", arguments->common.json,
               "A JSON object a text: prompt, text (what follows), tokens, ids, ended, seed");
  add_threads(command, arguments->common);
  add_dtype(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return generate(*arguments); }); });
}

}  // namespace tape::tools
