#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/utf8.h"
#include "models/gguf/tokenizer.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::models {
namespace {

using SortedJson = nlohmann::json;

/// A file's tokens and their types.
struct FileVocabulary {
  std::string where;
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::map<std::string, int64_t> ids;  // of used tokens
};

FileVocabulary read_vocabulary(const GgufEntries& entries) {
  FileVocabulary v{entries.where(), entries.list<std::string>("tokenizer.ggml.tokens"), {}, {}};
  v.types = entries.has("tokenizer.ggml.token_type") ? entries.list<int32_t>("tokenizer.ggml.token_type")
                                                     : std::vector<int32_t>(v.tokens.size(), kNormal);
  if (v.types.size() != v.tokens.size())
    raise(ErrorKind::format, "{}: {} tokens, but {} types", v.where, v.tokens.size(), v.types.size());
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    const std::string& token = v.tokens[id];
    if (v.types[id] == kUnused) continue;
    if (!valid_utf8(token)) raise(ErrorKind::format, "{}: token {} is not valid UTF-8", v.where, id);
    if (const auto [place, fresh] = v.ids.emplace(token, static_cast<int64_t>(id)); !fresh)
      raise(ErrorKind::format, "{}: tokens {} and {} are both \"{}\"", v.where, place->second, id, clipped(token, 40));
  }
  return v;
}

/// Limits merges and SentencePiece pieces, since trying every split takes quadratic time.
constexpr size_t kLongestMerge = 512;
/// Llama 2 has two merges per token. Tokens that all contain each other would have as many merges as letters, so a
/// small file could exhaust memory.
constexpr size_t kMostMerges = 32, kMergesOfAny = 1000;

/// Splits a merge "a b" into its two tokens, either of which may contain spaces.
SortedJson parts_of_merge(const FileVocabulary& v, const std::string& merge) {
  if (merge.size() > kLongestMerge)
    raise(ErrorKind::format, "{}: a merge of {} bytes exceeds the limit of {}", v.where, merge.size(), kLongestMerge);
  for (size_t blank = merge.find(' ', 1); blank != std::string::npos; blank = merge.find(' ', blank + 1)) {
    const std::string left = merge.substr(0, blank), right = merge.substr(blank + 1);
    if (v.ids.contains(left) && v.ids.contains(right) && v.ids.contains(left + right))
      return merge.find(' ') == merge.rfind(' ') ? SortedJson(merge) : SortedJson{left, right};
  }
  raise(ErrorKind::format, "{}: the merge \"{}\" contains an unknown token", v.where, clipped(merge, 40));
}

/// SentencePiece merges the neighbors whose token has the highest score, so merges for every split of a token rank at
/// the token's score; at equal scores, longer left parts come first.
SortedJson merges_of_scores(const FileVocabulary& v, const std::vector<float>& scores) {
  if (scores.size() != v.tokens.size())
    raise(ErrorKind::format, "{}: {} tokens, but {} scores", v.where, v.tokens.size(), scores.size());
  std::vector<std::tuple<float, size_t, size_t, std::string, std::string>> found;
  for (const auto& [token, id] : v.ids) {
    if (v.types[static_cast<size_t>(id)] != kNormal) continue;
    if (token.size() > kLongestMerge)
      raise(ErrorKind::format, "{}: token {} of {} bytes exceeds the limit of {}", v.where, id, token.size(),
            kLongestMerge);
    for (size_t cut = 1; cut < token.size(); ++cut) {
      if ((static_cast<unsigned char>(token[cut]) & 0xC0U) == 0x80U) continue;  // inside a character
      const std::string left = token.substr(0, cut), right = token.substr(cut);
      if (v.ids.contains(left) && v.ids.contains(right))
        found.emplace_back(-scores[static_cast<size_t>(id)], token.size() - cut, cut, left, right);
      if (found.size() > kMostMerges * v.tokens.size() + kMergesOfAny)
        raise(ErrorKind::format, "{}: {} tokens can be merged from each other in more than {} ways each", v.where,
              v.tokens.size(), kMostMerges);
    }
  }
  std::sort(found.begin(), found.end());
  SortedJson merges = SortedJson::array();
  for (const auto& [score, behind, cut, left, right] : found) merges.push_back(SortedJson{left, right});
  return merges;
}

/// Defaults of llama.cpp (src/llama-vocab.cpp).
struct Defaults {
  bool add_bos, add_eos;
  int64_t bos, eos, unk;  // -1: none
  bool ordinary;          // whether these ids apply even if their tokens are of the normal type
};

Defaults defaults_of(const GgufEntries& entries, const std::string& model) {
  if (model == "llama") return {.add_bos = true, .add_eos = false, .bos = 1, .eos = 2, .unk = 0, .ordinary = true};
  const bool add_bos = gguf_pre_tokenizer(entries.text("tokenizer.ggml.pre", "default")).add_bos;
  return {.add_bos = add_bos, .add_eos = false, .bos = 11, .eos = 11, .unk = -1, .ordinary = false};
}

bool is_used(const FileVocabulary& v, int64_t id) {
  return id >= 0 && id < std::ssize(v.tokens) && v.types[static_cast<size_t>(id)] != kUnused;
}

/// Special tokens under the names of tokenizer_config.json.
std::map<std::string, std::string> special_names(const GgufEntries& entries, const FileVocabulary& v,
                                                 const Defaults& defaults) {
  struct Name {
    const char *theirs, *ours;
    int64_t otherwise = -1;
  };
  std::map<std::string, std::string> names;
  for (const auto& [theirs, ours, otherwise] : {Name{"bos_token_id", "bos_token", defaults.bos},
                                                {"eos_token_id", "eos_token", defaults.eos},
                                                {"unknown_token_id", "unk_token", defaults.unk},
                                                {"padding_token_id", "pad_token"}}) {
    const std::string key = fmt::format("tokenizer.ggml.{}", theirs);
    const bool given = entries.has(key);
    const int64_t id = given ? entries.whole(key) : otherwise;
    if (given && !is_used(v, id)) raise(ErrorKind::format, "{}: \"{}\" is {}, which is not a token", v.where, key, id);
    if (given || (is_used(v, id) && (defaults.ordinary || v.types[static_cast<size_t>(id)] != kNormal)))
      names[ours] = v.tokens[static_cast<size_t>(id)];
  }
  return names;
}

/// Post-processor that adds tokens around a text; null if none.
SortedJson template_of(const GgufEntries& entries, const FileVocabulary& v,
                       const std::map<std::string, std::string>& names, const Defaults& defaults) {
  SortedJson single = SortedJson::array(), pair = SortedJson::array(), special = SortedJson::object();
  const auto put = [&](const char* flag, bool otherwise, const char* name, int64_t id) {
    if (!entries.flag(fmt::format("tokenizer.ggml.{}", flag), otherwise)) return;
    const auto named = names.find(name);
    if (named == names.end() && !is_used(v, id))
      raise(ErrorKind::format, "{}: \"{}\" without a {}", v.where, flag, name);
    const std::string& token = named != names.end() ? named->second : v.tokens[static_cast<size_t>(id)];
    single.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
    special[token] = {{"id", token}, {"ids", {v.ids.at(token)}}, {"tokens", {token}}};
  };
  put("add_bos_token", defaults.add_bos, "bos_token", defaults.bos);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  put("add_eos_token", defaults.add_eos, "eos_token", defaults.eos);
  if (single.size() == 1) return nullptr;
  pair = single;
  for (SortedJson part : single) {
    SortedJson& inner = part.front();
    inner["type_id"] = 1;
    if (part.contains("Sequence")) inner["id"] = "B";
    pair.push_back(part);
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

SortedJson added_tokens_of(const FileVocabulary& v) {
  SortedJson added = SortedJson::array();
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    const int32_t type = v.types[id];
    if (type != kControl && type != kUnknown && type != kUserDefined) continue;
    added.push_back({{"id", id},
                     {"content", v.tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", type != kUserDefined}});
  }
  return added;
}

SortedJson replace(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

/// Byte-level BPE.
void add_byte_level(SortedJson& file, const GgufEntries& entries, const FileVocabulary& v) {
  const std::string name = entries.text("tokenizer.ggml.pre", "default");
  const GgufPreTokenizer split = gguf_pre_tokenizer(name);
  if (split.pre_tokenizer.is_null())
    raise(ErrorKind::config, "{}: pre-tokenizer \"{}\" is not supported", v.where, clipped(name, 60));
  file["pre_tokenizer"] = split.pre_tokenizer;
  if (split.nfc) file["normalizer"] = {{"type", "NFC"}};
  file["decoder"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  SortedJson& model = file["model"];
  model["ignore_merges"] = split.ignore_merges;
  for (const std::string& merge : entries.list<std::string>("tokenizer.ggml.merges"))
    model["merges"].push_back(parts_of_merge(v, merge));
}

/// SentencePiece BPE, which writes spaces as U+2581 and unknown characters as bytes.
void add_sentence_piece(SortedJson& file, const GgufEntries& entries, const FileVocabulary& v,
                        const std::string& unknown) {
  const bool blank = entries.flag("tokenizer.ggml.add_space_prefix", true);
  SortedJson steps = SortedJson::array();
  if (blank) steps.push_back({{"type", "Prepend"}, {"prepend", "\u2581"}});
  steps.push_back(replace(" ", "\u2581"));
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  SortedJson back = SortedJson::array({replace("\u2581", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (blank) back.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  file["decoder"] = {{"type", "Sequence"}, {"decoders", back}};
  SortedJson& model = file["model"];
  model["byte_fallback"] = true;
  model["fuse_unk"] = true;
  if (!unknown.empty()) model["unk_token"] = unknown;
  if (!entries.has("tokenizer.ggml.merges")) {
    model["merges"] = merges_of_scores(v, entries.list<float>("tokenizer.ggml.scores"));
    return;
  }
  for (const std::string& merge : entries.list<std::string>("tokenizer.ggml.merges"))
    model["merges"].push_back(parts_of_merge(v, merge));
}

}  // namespace

void write_tokenizer(const GgufEntries& entries, const std::string& folder) {
  const FileVocabulary v = read_vocabulary(entries);
  const std::string model = entries.text("tokenizer.ggml.model");
  if (model != "gpt2" && model != "llama")
    raise(ErrorKind::config, "{}: a tokenizer of model \"{}\" is not supported; gpt2 and llama are", v.where, model);
  const Defaults defaults = defaults_of(entries, model);
  const std::map<std::string, std::string> names = special_names(entries, v, defaults);
  SortedJson file{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", added_tokens_of(v)},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", nullptr},
                  {"post_processor", template_of(entries, v, names, defaults)}};
  file["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", false},
                   {"vocab", v.ids},
                   {"merges", SortedJson::array()}};
  if (model == "gpt2")
    add_byte_level(file, entries, v);
  else
    add_sentence_piece(file, entries, v, names.contains("unk_token") ? names.at("unk_token") : "");
  SortedJson config{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  for (const auto& [name, token] : names) config[name] = token;
  if (entries.has("tokenizer.chat_template")) {
    config["chat_template"] = entries.text("tokenizer.chat_template");
    if (!valid_utf8(entries.text("tokenizer.chat_template")))
      raise(ErrorKind::format, "{}: \"tokenizer.chat_template\" is not valid UTF-8", v.where);
  }
  make_folder(folder);
  text::remove_tokenizer(folder);
  write_in_folder(folder, "tokenizer.json", file.dump(2) + "\n");
  write_in_folder(folder, "tokenizer_config.json", config.dump(2) + "\n");
}

}  // namespace tape::models
