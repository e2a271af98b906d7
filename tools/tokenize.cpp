#include "tools/commands.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/json.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/tokenizer.h"
#include "tools/dropped_text.h"
#include "tools/terminal/lines.h"

namespace tape::tools {
namespace {

struct TokenizeOptions {
  std::string model;
  bool pair = false, decode = false, explain = false, tokens = false, json = false, target = false;
  bool no_special_tokens = false, keep_special_tokens = false;
  int64_t max_length = 0;
};

std::vector<int64_t> read_ids(const std::string& line, int64_t number) {
  std::vector<int64_t> ids;
  for (const char *at = line.data(), *end = at + line.size(); at != end;) {
    if (*at == ' ' || *at == '\t' || *at == '\r') {
      ++at;
      continue;
    }
    int64_t id = 0;
    const auto [rest, failed] = std::from_chars(at, end, id);
    if (failed != std::errc() || (rest != end && *rest != ' ' && *rest != '\t' && *rest != '\r'))
      raise(ErrorKind::format, "line {}: \"{}\" is not an id", number, std::string(at, std::find(at, end, ' ')));
    ids.push_back(id);
    at = rest;
  }
  return ids;
}

/// One text or, with --pair, two.
struct Texts {
  std::string first;
  std::optional<std::string> second = std::nullopt;
};

Texts read_plain(const std::string& line, int64_t number, bool pair) {
  if (!pair) return {line};
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) raise(ErrorKind::format, "line {}: --pair needs two texts separated by a tab", number);
  return {line.substr(0, tab), line.substr(tab + 1)};
}

Texts read_json(const std::string& line, int64_t number, bool pair) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!pair && json.is_string()) return {json.get<std::string>()};
  if (pair && json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string())
    return {json[0].get<std::string>(), json[1].get<std::string>()};
  raise(ErrorKind::format, "line {}: not {}", number, pair ? "a JSON list of two strings" : "a JSON string");
}

std::string json_line(const text::Tokenizer& tokenizer, const text::Encoding& encoding) {
  nlohmann::ordered_json line{{"ids", encoding.ids},
                              {"type_ids", encoding.type_ids},
                              {"tokens", tokenizer.tokens(encoding.ids)},
                              {"offsets", nlohmann::ordered_json::array()}};
  for (const text::Range& range : encoding.offsets) line["offsets"].push_back({range.begin, range.end});
  return line.dump();
}

std::string encoded(const text::Tokenizer& tokenizer, const std::string& line, int64_t number,
                    const TokenizeOptions& options, DroppedText& dropped) {
  const text::EncodeOptions how{.add_special_tokens = !options.no_special_tokens, .max_length = options.max_length};
  const Texts texts = options.json ? read_json(line, number, options.pair) : read_plain(line, number, options.pair);
  dropped.add(texts.first);
  if (texts.second) dropped.add(*texts.second);
  const text::Encoding encoding =
      texts.second ? tokenizer.encode_pair(texts.first, *texts.second, how) : tokenizer.encode(texts.first, how);
  if (options.json) return json_line(tokenizer, encoding);
  std::string out;
  for (const int64_t id : encoding.ids) {
    if (!out.empty()) out += ' ';
    out += options.tokens ? tokenizer.token(id) : fmt::format("{}", id);
  }
  return out;
}

int tokenize(const TokenizeOptions& options) {
  const auto loaded = text::load_tokenizer(options.model);
  const text::Tokenizer* tokenizer = loaded.get();
  if (options.target) {
    if (&tokenizer->target() == tokenizer)
      raise(ErrorKind::config, "{}: --target needs a tokenizer with source and target sides", options.model);
    tokenizer = &tokenizer->target();
  }
  Output output;
  DroppedText dropped(*tokenizer);
  int64_t number = 0;
  for (auto line = next_line(); line; line = next_line()) {
    ++number;
    std::string out;
    if (options.decode) {
      out = tokenizer->decode(read_ids(*line, number), !options.keep_special_tokens);
      if (options.json) out = dump_json(out);
    } else if (options.explain) {
      dropped.add(*line);
      for (const std::string& step : tokenizer->explain(*line)) out += out.empty() ? step : fmt::format("\n{}", step);
    } else {
      out = encoded(*tokenizer, *line, number, options, dropped);
    }
    out += '\n';
    output.write(out);
  }
  output.flush();
  dropped.report();
  return 0;
}

}  // namespace

void add_tokenize(Command app) {
  const auto options = std::make_shared<TokenizeOptions>();
  Command command = app.subcommand("tokenize", "Convert each line of standard input to ids, or ids to text");
  command.footer("Example: echo time flies like an arrow | tapeformer tokenize --model bert-base-uncased");
  command.option("--model", options->model, "Folder with the tokenizer's files").required();
  Option pair = command.flag("--pair", options->pair, "Each line has two texts separated by a tab");
  Option decode = command.flag("--decode", options->decode, "Each line has ids: print their text");
  Option explain = command.flag("--explain", options->explain, "Print each step of the tokenization");
  Option tokens = command.flag("--tokens", options->tokens, "Print tokens instead of ids");
  Option json = command.flag("--json", options->json,
                             "Lines are JSON strings (lists of two with --pair); print ids, segments, tokens and "
                             "byte offsets as JSON. With --decode: print texts as JSON");
  command.flag("--target", options->target, "Use the target side of a translation model's tokenizer");
  command.flag("--no-special-tokens", options->no_special_tokens, "Add no start or end token");
  command.flag("--keep-special-tokens", options->keep_special_tokens, "With --decode: show them").needs(decode);
  command.option("--max-length", options->max_length, "Truncate to this many tokens").at_least(1);
  decode.excludes(pair).excludes(explain).excludes(tokens);
  explain.excludes(pair).excludes(tokens).excludes(json);
  tokens.excludes(json);
  command.runs([options] { return tokenize(*options); });
}

}  // namespace tape::tools
