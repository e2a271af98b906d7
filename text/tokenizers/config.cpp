#include "text/tokenizers/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "text/tokenizers/json_entry.h"
#include "text/tokenizers/vocabulary_json.h"

namespace tape::text {
namespace {

constexpr std::array<std::pair<const char*, std::string TokenizerConfig::*>, 7> kTokenNames{
    {{"bos_token", &TokenizerConfig::bos},
     {"eos_token", &TokenizerConfig::eos},
     {"unk_token", &TokenizerConfig::unk},
     {"sep_token", &TokenizerConfig::sep},
     {"pad_token", &TokenizerConfig::pad},
     {"cls_token", &TokenizerConfig::cls},
     {"mask_token", &TokenizerConfig::mask}}};

constexpr std::array<std::pair<const char*, std::optional<bool> TokenizerConfig::*>, 9> kFlags{
    {{"do_lower_case", &TokenizerConfig::do_lower_case},
     {"strip_accents", &TokenizerConfig::strip_accents},
     {"tokenize_chinese_chars", &TokenizerConfig::tokenize_chinese_chars},
     {"add_prefix_space", &TokenizerConfig::add_prefix_space},
     {"trim_offsets", &TokenizerConfig::trim_offsets},
     {"add_bos_token", &TokenizerConfig::add_bos_token},
     {"add_eos_token", &TokenizerConfig::add_eos_token},
     {"separate_vocabs", &TokenizerConfig::separate_vocabs},
     {"legacy_behaviour", &TokenizerConfig::legacy_behaviour}}};

constexpr std::array<std::pair<const char*, std::string TokenizerConfig::*>, 4> kTexts{
    {{"tokenizer_class", &TokenizerConfig::tokenizer_class},
     {"src_lang", &TokenizerConfig::src_lang},
     {"tgt_lang", &TokenizerConfig::tgt_lang},
     {"language_codes", &TokenizerConfig::language_codes}}};

/// A token is written as a text or as an object with its "content".
std::string token_name(const JsonEntry& entry) {
  return entry.value().is_object() ? entry.at("content").text() : entry.text();
}

void read_names(const JsonEntry& file, TokenizerConfig& config) {
  for (const auto& [key, member] : kTokenNames) {
    const auto found = file.value().find(key);
    if (found == file.value().end()) continue;
    config.*member = found->is_null() ? "" : token_name(file.at(key));
    if (found->is_object()) config.described.push_back(read_added_token(file.at(key)));
  }
  std::vector<std::string> more;
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    if (!file.has(key)) continue;
    const JsonEntry list = file.at(key);
    // The second may be {"name": token, ...}.
    if (list.value().is_object())
      for (const auto& [name, value] : list.value().items())
        more.push_back(token_name(JsonEntry(value, fmt::format("{}.{}", list.where(), name))));
    else
      for (const JsonEntry& token : list.items()) more.push_back(token_name(token));
  }
  if (!more.empty()) config.more = std::move(more);
}

void sort_by_id(std::vector<AddedToken>& tokens) {
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

void read_added_by_id(const JsonEntry& list, TokenizerConfig& config) {
  for (const auto& [key, value] : list.value().items()) {
    const JsonEntry entry(value, fmt::format("{}.{}", list.where(), key));
    AddedToken token = read_added_token(entry);
    const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), token.id);
    if (failed != std::errc() || end != key.data() + key.size() || token.id < 0) entry.fail("the key is not an id");
    config.added.push_back(std::move(token));
  }
  sort_by_id(config.added);
}

/// The tokens of added_tokens.json that the configuration does not list.
void read_added_by_name(const std::string& path, TokenizerConfig& config) {
  std::unordered_set<std::string> listed, special;
  for (const AddedToken& token : config.added) listed.insert(token.content);
  for (const std::string& name : special_names(config)) special.insert(name);
  for (const auto& [token, id] : read_vocabulary_json(path)) {
    const bool is_special = special.contains(token);
    if (!listed.contains(token))
      config.added.push_back({.content = token, .id = id, .special = is_special, .normalized = !is_special});
  }
  sort_by_id(config.added);
}

}  // namespace

AddedToken read_added_token(const JsonEntry& entry) {
  return {.content = entry.at("content").text(),
          .special = entry.flag("special", false),
          .single_word = entry.flag("single_word", false),
          .lstrip = entry.flag("lstrip", false),
          .rstrip = entry.flag("rstrip", false),
          .normalized = entry.flag("normalized", false)};
}

TokenizerConfig read_tokenizer_config(const std::string& folder, const TokenizerConfig& defaults) {
  TokenizerConfig config = defaults;
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    const std::string path = file_in_folder(folder, name);
    if (!path_exists(path)) continue;
    const nlohmann::json json = parse_large_json(read_text(path), path, 32);
    const JsonEntry file(json, path);
    read_names(file, config);
    if (file.has("added_tokens_decoder")) read_added_by_id(file.at("added_tokens_decoder"), config);
    for (const auto& [key, member] : kFlags)
      if (file.has(key)) config.*member = file.at(key).flag();
    for (const auto& [key, member] : kTexts) config.*member = file.text(key, config.*member);
    config.extra_ids = file.has("extra_ids") ? file.at("extra_ids").integer() : config.extra_ids;
  }
  if (const std::string path = file_in_folder(folder, "added_tokens.json"); path_exists(path))
    read_added_by_name(path, config);
  return config;
}

std::string tokenizer_config_json(const TokenizerConfig& config) {
  nlohmann::ordered_json json;
  for (const auto& [key, member] : kTexts)
    if (!(config.*member).empty()) json[key] = config.*member;
  for (const auto& [key, member] : kFlags)
    if (config.*member) json[key] = *(config.*member);
  if (config.extra_ids) json["extra_ids"] = *config.extra_ids;
  for (const auto& [key, member] : kTokenNames)
    if (!(config.*member).empty()) json[key] = config.*member;
  if (!config.more.empty()) json["additional_special_tokens"] = config.more;
  for (const AddedToken& token : config.added)
    json["added_tokens_decoder"][fmt::format("{}", token.id)] = {
        {"content", token.content}, {"lstrip", token.lstrip},           {"normalized", token.normalized},
        {"rstrip", token.rstrip},   {"single_word", token.single_word}, {"special", token.special}};
  return json.dump(2) + "\n";
}

void write_in_folder(const std::string& folder, const std::string& name, std::string_view content) {
  make_folder(folder);
  write_file(fmt::format("{}/{}", folder, name), std::span(&content, 1));
}

std::vector<std::string> special_names(const TokenizerConfig& config) {
  std::vector<std::string> out;
  for (const auto& [key, member] : kTokenNames)
    if (!(config.*member).empty()) out.push_back(config.*member);
  out.insert(out.end(), config.more.begin(), config.more.end());
  return out;
}

std::unique_ptr<const TokenTable> table_of(TokenTable::Entries vocabulary, const TokenizerConfig& config,
                                           const std::string& where) {
  const auto size = static_cast<int64_t>(vocabulary.size());
  return std::make_unique<const TokenTable>(
      std::move(vocabulary), [&](const TokenTable::Own& own) { return missing_tokens(config, size, own); }, where);
}

std::vector<AddedToken> added_tokens(const TokenizerConfig& config, const TokenTable& table) {
  std::vector<AddedToken> out = config.added;
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < out.size(); ++i) places.try_emplace(out[i].content, i);
  const auto described = [&config](const std::string& name, int64_t id) {
    AddedToken token{.content = name};
    for (const AddedToken& given : config.described)
      if (given.content == name) token = given;
    token.id = id;
    token.special = true;
    return token;
  };
  for (const std::string& name : special_names(config)) {
    const auto id = table.find(name);
    if (const auto found = places.find(name); found != places.end())
      out[found->second].special = true;
    else if (id && places.try_emplace(name, out.size()).second)
      out.push_back(described(name, *id));
  }
  return out;
}

SpecialTokens special_ids(const TokenizerConfig& config, const TokenTable& table) {
  const auto id = [&table](const std::string& name) { return name.empty() ? -1 : table.find(name).value_or(-1); };
  return {.pad = id(config.pad),
          .unk = id(config.unk),
          .cls = id(config.cls),
          .sep = id(config.sep),
          .mask = id(config.mask),
          .bos = id(config.bos),
          .eos = id(config.eos)};
}

}  // namespace tape::text
