#include <algorithm>
#include <array>
#include <string_view>

#include "models/gguf/names.h"

namespace tape::models::gguf {
namespace {

using Ids = std::vector<int64_t>;

constexpr std::array kKeys{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};
constexpr const char* kTokens = "tokenizer.ggml.tokens";

/// llama-vocab.cpp, "maintain a list of tokens that cause end-of-generation".
constexpr std::array<std::string_view, 20> kEnds{"<|eot_id|>",
                                                 "<|im_end|>",
                                                 "<|end|>",
                                                 "<|return|>",
                                                 "<|call|>",
                                                 "<|flush|>",
                                                 "<|calls|>",
                                                 "<end_of_turn>",
                                                 "<|endoftext|>",
                                                 "</s>",
                                                 "<|eom_id|>",
                                                 "<EOT>",
                                                 "_<EOT>",
                                                 "[EOT]",
                                                 "[EOS]",
                                                 "<|end_of_text|>",
                                                 "<end_of_utterance>",
                                                 "<eos>",
                                                 "<turn|>",
                                                 "<|tool_response>"};
/// Fill-in-the-middle tokens: padding, repository and file separator, each found by a key or the first matching name.
struct OfFiles {
  const char* key;
  std::array<std::string_view, 5> names;
};
constexpr std::array<OfFiles, 3> kOfFiles{
    {{"tokenizer.ggml.fim_pad_token_id", {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
     {"tokenizer.ggml.fim_rep_token_id", {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
     {"tokenizer.ggml.fim_sep_token_id", {"<|file_sep|>", "", "", "", ""}}}};

bool contains(const Ids& ids, int64_t id) { return std::ranges::find(ids, id) != ids.end(); }

/// The first token with one of these names.
template <class Names>
Ids named(const std::vector<std::string>& tokens, const Names& names, bool all) {
  Ids found;
  for (size_t id = 0; id < tokens.size(); ++id)
    if (!tokens[id].empty() && std::ranges::find(names, tokens[id]) != names.end()) {
      found.push_back(static_cast<int64_t>(id));
      if (!all) break;
    }
  return found;
}

/// Tokens that llama.cpp treats as an end without a key.
Ids known_end_tokens(const std::vector<std::string>& tokens) {
  Ids found = named(tokens, kEnds, true);
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(found, [&](int64_t id) { return tokens[static_cast<size_t>(id)] == name; });
  };
  const auto erase = [&](std::string_view name) {
    std::erase_if(found, [&](int64_t id) { return tokens[static_cast<size_t>(id)] == name; });
  };
  // llama.cpp's workarounds for models in which these tokens end only a part of a message.
  const bool calls = has("<|call|>") || has("<|calls|>");
  if (calls && (has("<|return|>") || has("<|flush|>"))) erase("<|end|>");
  if (has("<|tool_response>")) erase("</s>");
  return found;
}

}  // namespace

Ids read_end_tokens(const GgufEntries& entries) {
  const auto& tokens = entries.list<std::string>(kTokens);
  Ids ends;
  const auto add = [&](int64_t id) {
    if (!contains(ends, id)) ends.push_back(id);
  };
  const auto add_key = [&](const char* key) {
    if (!entries.has(key)) return false;
    const int64_t id = entries.whole(key);
    if (id >= std::ssize(tokens))
      raise(ErrorKind::format, "{}: \"{}\" is {}, but there are {} tokens", entries.where(), key, id, tokens.size());
    add(id);
    return true;
  };
  for (const char* key : kKeys) add_key(key);
  Ids others = known_end_tokens(tokens);
  std::ranges::for_each(others, add);
  for (const auto& [key, names] : kOfFiles)
    if (!add_key(key)) std::ranges::for_each(named(tokens, names, false), add);
  return ends;
}

void write_end_tokens(GgufMetadata& metadata, const Ids& given) {
  const auto find = [&](const char* key) { return std::ranges::find(metadata, key, &GgufMetadata::value_type::first); };
  const auto list = find(kTokens);
  const std::vector<std::string> tokens =
      list == metadata.end() ? std::vector<std::string>() : std::get<std::vector<std::string>>(list->second);
  Ids ends;
  for (const int64_t id : given)
    if (id >= 0 && id < std::ssize(tokens) && !contains(ends, id)) ends.push_back(id);
  if (ends.empty()) return;
  const auto eos = find(kKeys[0]), adds = find("tokenizer.ggml.add_eos_token");
  const bool kept =
      eos != metadata.end() && std::holds_alternative<uint32_t>(eos->second) &&
      (contains(ends, std::get<uint32_t>(eos->second)) || (adds != metadata.end() && adds->second == GgufValue(true)));
  // Tokens that llama.cpp recognizes by their text come last, as they need no key.
  const Ids by_text = known_end_tokens(tokens);
  std::ranges::stable_partition(ends, [&](int64_t id) { return !contains(by_text, id); });
  if (kept)
    std::erase(ends, static_cast<int64_t>(std::get<uint32_t>(eos->second)));
  else if (const Ids::iterator first = std::ranges::find(ends, given.front()); first != ends.end())
    std::rotate(ends.begin(), first, first + 1);
  for (size_t place = kept ? 1 : 0, next = 0; next < ends.size(); ++place, ++next) {
    if (place == kKeys.size()) {
      if (contains(by_text, ends[next])) return;
      raise(ErrorKind::config, "export gguf: {} tokens end a text, but GGUF can store only {}", given.size(),
            kKeys.size());
    }
    const auto value = GgufValue(static_cast<uint32_t>(ends[next]));
    if (const auto there = find(kKeys[place]); there != metadata.end())
      there->second = value;
    else
      metadata.emplace_back(kKeys[place], value);
  }
}

}  // namespace tape::models::gguf
