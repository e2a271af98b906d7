#include "models/gguf/tokenizer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/path.h"
#include "models/folders/tokenizer_fit.h"
#include "text/json.h"
#include "text/tokenizers/byte_level_bpe.h"
#include "text/tokenizers/folder/config.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::models {
namespace {

using SortedJson = nlohmann::json;

/// A tokenizer's model, merges and pre-tokenizer.
struct Kind {
  std::string model;  // "gpt2" or "llama"
  std::string split;  // "tokenizer.ggml.pre"
  std::vector<std::string> merges;
  std::set<std::string> added = {};  // added tokens that are not special, which are never split
};

/// The consecutive parts of a "pre_tokenizer".
std::vector<SortedJson> steps_of(const SortedJson& pre) {
  if (!pre.is_object()) return {};
  if (pre.value("type", "") != "Sequence") return {pre};
  const auto parts = pre.find("pretokenizers");
  return parts != pre.end() && parts->is_array() ? std::vector<SortedJson>(parts->begin(), parts->end())
                                                 : std::vector<SortedJson>();
}

/// llama.cpp's name of a byte-level tokenizer's splitting; "" if it has none.
std::string split_of(const std::vector<SortedJson>& parts) {
  std::string types;
  for (const SortedJson& part : parts) types += part.value("type", "") + " ";
  if (types == "ByteLevel ") return "gpt-2";
  if (types == "Digits ByteLevel ") return "smollm";
  if (types != "Split ByteLevel ") return "";
  const SortedJson pattern = parts.front().value("pattern", SortedJson::object());
  const std::string regex = pattern.is_object() ? pattern.value("Regex", "") : "";
  for (const char* name : {"llama-bpe", "qwen2"})
    if (regex == split_expression(name)) return name;
  return "";
}

std::vector<std::string> merges_of(const SortedJson& model, const std::string& where) {
  std::vector<std::string> merges;
  for (const SortedJson& merge : model.value("merges", SortedJson::array())) {
    if (merge.is_string())
      merges.push_back(merge.get<std::string>());
    else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
      merges.push_back(fmt::format("{} {}", merge[0].get<std::string>(), merge[1].get<std::string>()));
    else
      raise(ErrorKind::format, "{}: a merge is neither a string nor a pair of strings", where);
  }
  return merges;
}

std::set<std::string> added_of(const SortedJson& tokenizer) {
  std::set<std::string> added;
  for (const SortedJson& token : tokenizer.value("added_tokens", SortedJson::array()))
    if (!token.value("special", false)) added.insert(token.value("content", ""));
  return added;
}

Kind kind_of_json(const std::string& file) {
  const SortedJson parsed = parse_large_json(read_text(file), file);
  const SortedJson model = parsed.value("model", SortedJson::object());
  const std::string type = model.is_object() ? model.value("type", "BPE") : "";
  if (type != "BPE") raise(ErrorKind::config, "{}: GGUF cannot store a tokenizer of type \"{}\", only BPE", file, type);
  if (model.value("byte_fallback", false)) return {"llama", "default", merges_of(model, file), added_of(parsed)};
  const std::string split = split_of(steps_of(parsed.value("pre_tokenizer", SortedJson())));
  if (split.empty())
    raise(ErrorKind::config,
          "{}: \"pre_tokenizer\" matches none that GGUF has a name for (GPT-2, Llama 3, Qwen2, SmolLM)", file);
  return {"gpt2", split, merges_of(model, file), added_of(parsed)};
}

Kind kind_of(const std::string& folder, const text::Tokenizer& tokenizer) {
  const std::string file = file_in_folder(folder, "tokenizer.json");
  if (path_exists(file)) return kind_of_json(file);
  const auto* const bpe = dynamic_cast<const text::ByteLevelBpe*>(&tokenizer);
  if (!bpe)
    raise(ErrorKind::config,
          "{}: GGUF cannot store this tokenizer; save it as tokenizer.json, or as vocab.json and "
          "merges.txt of a byte-level BPE",
          folder);
  Kind kind{"gpt2", "gpt-2", {}};
  for (const auto& [left, right] : bpe->merges()) kind.merges.push_back(fmt::format("{} {}", left, right));
  return kind;
}

/// The folder's chat template; "" if it has none, or several of which none is the default.
std::string chat_template_of(const text::TokenizerConfig& config) {
  if (config.other_keys.empty()) return "";
  const SortedJson keys = parse_large_json(config.other_keys, "tokenizer_config.json", 32);
  const SortedJson given = keys.value("chat_template", SortedJson());
  if (given.is_string()) return given.get<std::string>();
  if (given.is_array())
    for (const SortedJson& one : given)
      if (one.is_object() && one.value("name", "") == "default") return one.value("template", "");
  return "";
}

/// "<0x0A>"
bool is_byte_token(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
}

/// SentencePiece's BPE merges the pair whose token has the highest score: tokens that come early in the merges.
std::vector<float> scores_of(const std::vector<std::string>& tokens, const std::vector<std::string>& merges) {
  std::map<std::string, float> score;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    std::string joined = merges[rank];
    if (const size_t blank = joined.find(' '); blank != joined.npos) joined.erase(blank, 1);
    score.emplace(joined, -static_cast<float>(rank));
  }
  std::vector<float> scores;
  for (const std::string& token : tokens) {
    const auto found = score.find(token);
    scores.push_back(found == score.end() ? 0 : found->second);
  }
  return scores;
}

/// The tokens that are added before and after a text.
struct EndTokens {
  std::optional<int64_t> begin, end;
};

EndTokens end_tokens_of(const text::Tokenizer& tokenizer, const std::string& folder) {
  const text::Encoding text = tokenizer.encode("a");
  EndTokens ends;
  if (text.ids.empty()) return ends;
  if (text.special_tokens_mask.front() == 1) ends.begin = text.ids.front();
  if (text.ids.size() > 1 && text.special_tokens_mask.back() == 1) ends.end = text.ids.back();
  const auto added = std::count(text.special_tokens_mask.begin(), text.special_tokens_mask.end(), 1);
  if (added > int{ends.begin.has_value()} + int{ends.end.has_value()})
    raise(ErrorKind::config, "{}: the tokenizer adds {} tokens around a text; GGUF allows one before and one after it",
          folder, added);
  return ends;
}

/// Whether the tokenizer adds a space before the text.
bool adds_space(const text::Tokenizer& tokenizer) {
  const std::vector<int64_t> ids = tokenizer.encode("a", {.add_special_tokens = false}).ids;
  return !ids.empty() && tokenizer.token(ids.front()).starts_with("\u2581");
}

}  // namespace

void append_tokenizer(GgufMetadata& metadata, const std::string& folder, int64_t vocab) {
  const auto tokenizer = text::load_tokenizer(folder);
  check_tokenizer_fits(folder, *tokenizer, "vocab_size", vocab);
  Kind kind = kind_of(folder, *tokenizer);
  const text::TokenizerConfig config = text::read_tokenizer_config(folder, {});
  for (const text::AddedToken& token : config.added)
    if (!token.special) kind.added.insert(token.content);
  const text::SpecialTokens& special = tokenizer->special();
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  for (int64_t id = 0; id < vocab; ++id) {
    const bool unused = id >= tokenizer->vocab_size();
    tokens.push_back(unused ? fmt::format("[PAD{}]", id) : tokenizer->token(id));
    types.push_back(unused                                                         ? kUnused
                    : kind.model == "llama" && id == special.unk                   ? kUnknown
                    : tokenizer->is_special(id)                                    ? kControl
                    : kind.added.contains(tokenizer->token(id))                    ? kUserDefined
                    : kind.model == "llama" && is_byte_token(tokenizer->token(id)) ? kByte
                                                                                   : kNormal);
  }
  const auto entry = [&](const char* key, GgufValue value) {
    metadata.emplace_back(fmt::format("tokenizer.ggml.{}", key), std::move(value));
  };
  entry("model", kind.model);
  entry("pre", kind.split);
  if (kind.model == "llama") {
    entry("scores", scores_of(tokens, kind.merges));
    entry("add_space_prefix", adds_space(*tokenizer));
  }
  entry("tokens", std::move(tokens));
  entry("token_type", std::move(types));
  entry("merges", std::move(kind.merges));
  const EndTokens ends = end_tokens_of(*tokenizer, folder);
  const std::pair<const char*, int64_t> ids[] = {{"bos_token_id", ends.begin.value_or(special.bos)},
                                                 {"eos_token_id", ends.end.value_or(special.eos)},
                                                 {"unknown_token_id", special.unk},
                                                 {"padding_token_id", special.pad}};
  for (const auto& [key, id] : ids)
    if (id >= 0) entry(key, static_cast<uint32_t>(id));
  entry("add_bos_token", ends.begin.has_value());
  entry("add_eos_token", ends.end.has_value());
  if (const std::string text = chat_template_of(config); !text.empty())
    metadata.emplace_back("tokenizer.chat_template", text);
}

}  // namespace tape::models
