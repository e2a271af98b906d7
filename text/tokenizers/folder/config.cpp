#include "text/tokenizers/folder/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/json.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/vocabulary_json.h"
#include "text/tokenizers/steps/json_entry.h"

namespace tape::text {
namespace {

constexpr const char* kChatTemplate = "chat_template.jinja";

constexpr std::array<std::pair<const char*, std::string TokenizerConfig::*>, 7> kTokenNames{
    {{"bos_token", &TokenizerConfig::bos},
     {"eos_token", &TokenizerConfig::eos},
     {"unk_token", &TokenizerConfig::unk},
     {"sep_token", &TokenizerConfig::sep},
     {"pad_token", &TokenizerConfig::pad},
     {"cls_token", &TokenizerConfig::cls},
     {"mask_token", &TokenizerConfig::mask}}};

constexpr std::array<std::pair<const char*, std::optional<bool> TokenizerConfig::*>, 13> kFlags{
    {{"do_lower_case", &TokenizerConfig::do_lower_case},
     {"strip_accents", &TokenizerConfig::strip_accents},
     {"tokenize_chinese_chars", &TokenizerConfig::tokenize_chinese_chars},
     {"add_prefix_space", &TokenizerConfig::add_prefix_space},
     {"trim_offsets", &TokenizerConfig::trim_offsets},
     {"add_bos_token", &TokenizerConfig::add_bos_token},
     {"add_eos_token", &TokenizerConfig::add_eos_token},
     {"separate_vocabs", &TokenizerConfig::separate_vocabs},
     {"legacy_behaviour", &TokenizerConfig::legacy_behaviour},
     {"legacy", &TokenizerConfig::legacy},
     {"clean_up_tokenization_spaces", &TokenizerConfig::clean_up_tokenization_spaces},
     {"keep_accents", &TokenizerConfig::keep_accents},
     {"split_by_punct", &TokenizerConfig::split_by_punct}}};

constexpr std::array<std::pair<const char*, std::string TokenizerConfig::*>, 5> kTexts{
    {{"tokenizer_class", &TokenizerConfig::tokenizer_class},
     {"backend", &TokenizerConfig::backend},
     {"src_lang", &TokenizerConfig::src_lang},
     {"tgt_lang", &TokenizerConfig::tgt_lang},
     {"language_codes", &TokenizerConfig::language_codes}}};

/// A token is a string or an object with its "content".
std::string token_name(const JsonEntry& entry) {
  return entry.value().is_object() ? entry.at("content").text() : entry.text();
}

/// Reads a name. Flags, if given, replace earlier ones in `described`.
std::string read_name(const JsonEntry& entry, std::vector<AddedToken>& described) {
  std::string name = token_name(entry);
  if (!entry.value().is_object()) return name;
  std::erase_if(described, [&name](const AddedToken& token) { return token.content == name; });
  described.push_back(read_added_token(entry));
  return name;
}

std::vector<std::string> read_list(const JsonEntry& list, TokenizerConfig& config) {
  std::vector<std::string> out;
  for (const JsonEntry& token : list.items()) out.push_back(read_name(token, config.described_more));
  return out;
}

/// Whether a key of tokenizer_config.json has a field, names a file of the folder or needs code of the folder.
bool is_own_key(std::string_view key) {
  constexpr std::array<std::string_view, 10> kOthers{"extra_ids",
                                                     "additional_special_tokens",
                                                     "extra_special_tokens",
                                                     "added_tokens_decoder",
                                                     "tokenizer_file",
                                                     "special_tokens_map_file",
                                                     "vocab_file",
                                                     "merges_file",
                                                     "name_or_path",
                                                     "auto_map"};
  const auto in = [key](const auto& fields) {
    return std::ranges::any_of(fields, [key](const auto& field) { return key == field.first; });
  };
  return key.ends_with("_token") || in(kTokenNames) || in(kFlags) || in(kTexts) ||
         std::ranges::find(kOthers, key) != kOthers.end();
}

void add_own(std::string name, TokenizerConfig& config) {
  if (std::ranges::find(config.own, name) == config.own.end()) config.own.push_back(std::move(name));
}

void read_names(const JsonEntry& file, TokenizerConfig& config) {
  for (const auto& [key, member] : kTokenNames) {
    const auto found = file.value().find(key);
    if (found == file.value().end()) continue;
    config.*member = found->is_null() ? "" : read_name(file.at(key), config.described);
  }
  for (const auto& [key, value] : file.value().items()) {
    const bool named = std::ranges::any_of(kTokenNames, [&own = key](const auto& name) { return own == name.first; });
    if (!named && key.ends_with("_token") && (value.is_string() || value.is_object()))
      add_own(read_name(file.at(key), config.described), config);
  }
}

/// Reads a list of additional tokens, or {"name": token, ...} with names specific to the tokenizer.
void read_more(const JsonEntry& list, TokenizerConfig& config) {
  if (list.is_null()) {
    config.more.clear();
  } else if (list.value().is_object()) {
    for (const auto& [name, value] : list.value().items())
      add_own(read_name(JsonEntry(value, fmt::format("{}.{}", list.where(), name)), config.described), config);
    return;
  } else {
    config.more = read_list(list, config);
  }
  config.more_given = true;
}

bool holds_some(const JsonEntry& file, const char* key) { return file.has(key) && !file.at(key).value().empty(); }

/// transformers 5 renamed additional_special_tokens to extra_special_tokens.
void read_more_of_config(const JsonEntry& file, TokenizerConfig& config) {
  const bool old = file.value().contains("additional_special_tokens");
  if (old && !holds_some(file, "extra_special_tokens"))
    read_more(file.at("additional_special_tokens"), config);
  else if (file.value().contains("extra_special_tokens"))
    read_more(file.at("extra_special_tokens"), config);
}

/// Overrides tokenizer_config.json.
void read_special_tokens_map(const JsonEntry& file, TokenizerConfig& config) {
  TokenizerConfig read = config;
  read.described.clear();
  read_names(file, read);
  for (AddedToken& token : read.described) token.special = true;
  for (const AddedToken& token : config.described)
    if (std::ranges::find(read.described, token.content, &AddedToken::content) == read.described.end())
      read.described.push_back(token);
  config = std::move(read);
  if (file.has("extra_special_tokens")) {
    const std::vector<std::string> before = config.more;
    read_more(file.at("extra_special_tokens"), config);
    config.more.insert(config.more.begin(), before.begin(), before.end());
  } else if (file.has("additional_special_tokens") && !config.more_given) {
    config.more = read_list(file.at("additional_special_tokens"), config);
  }
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

void read_added_by_name(const std::string& path, TokenizerConfig& config) {
  std::unordered_set<std::string> special;
  for (const std::string& name : special_names(config)) special.insert(name);
  for (const auto& [token, id] : read_vocabulary_json(path)) {
    const bool is_special = special.contains(token);
    config.added.push_back({.content = token, .id = id, .special = is_special, .normalized = !is_special});
  }
  sort_by_id(config.added);
}

}  // namespace

AddedToken read_added_token(const JsonEntry& entry) {
  const bool special = entry.flag("special", false);
  return {.content = entry.at("content").text(),
          .special = special,
          .single_word = entry.flag("single_word", false),
          .lstrip = entry.flag("lstrip", false),
          .rstrip = entry.flag("rstrip", false),
          .normalized = entry.flag("normalized", !special)};
}

TokenizerConfig read_tokenizer_config(const std::string& folder, const TokenizerConfig& defaults) {
  TokenizerConfig config = defaults;
  const auto read = [&](const char* name, auto&& take) {
    const std::string path = file_in_folder(folder, name);
    if (!path_exists(path)) return;
    const nlohmann::json json = parse_large_json(read_text(path), path, 32);
    const JsonEntry file(json, path);
    if (!json.is_object()) file.needs("an object");
    take(file);
  };
  bool listed = false;
  nlohmann::json others = nlohmann::json::object();
  read("tokenizer_config.json", [&](const JsonEntry& file) {
    read_names(file, config);
    read_more_of_config(file, config);
    listed = file.has("added_tokens_decoder");
    if (listed) read_added_by_id(file.at("added_tokens_decoder"), config);
    for (const auto& [key, member] : kFlags)
      if (file.has(key)) config.*member = file.at(key).flag();
    for (const auto& [key, member] : kTexts) config.*member = file.text(key, config.*member);
    if (file.has("extra_ids")) config.extra_ids = file.at("extra_ids").integer();
    for (const auto& [key, value] : file.value().items())
      if (!is_own_key(key)) others[key] = value;
  });
  if (const std::string path = file_in_folder(folder, kChatTemplate); path_exists(path))
    others["chat_template"] = replace_invalid_utf8(read_text(path));
  if (!others.empty()) config.other_keys = others.dump();
  if (listed) return config;
  read("special_tokens_map.json", [&](const JsonEntry& file) { read_special_tokens_map(file, config); });
  if (const std::string path = file_in_folder(folder, "added_tokens.json"); path_exists(path))
    read_added_by_name(path, config);
  return config;
}

namespace {

nlohmann::ordered_json json_of(const TokenizerConfig& config) {
  nlohmann::ordered_json json;
  for (const auto& [key, member] : kTexts)
    if (!(config.*member).empty()) json[key] = config.*member;
  for (const auto& [key, member] : kFlags)
    if (config.*member) json[key] = *(config.*member);
  if (config.extra_ids) json["extra_ids"] = *config.extra_ids;
  const TokenizerConfig names = class_names(config.tokenizer_class);
  for (const auto& [key, member] : kTokenNames) {
    if (!(config.*member).empty())
      json[key] = config.*member;
    else if (!(names.*member).empty())
      json[key] = nullptr;  // without the key, the class's default would apply
  }
  std::vector<std::string> more = config.own;
  more.insert(more.end(), config.more.begin(), config.more.end());
  if (!more.empty()) json["additional_special_tokens"] = more;
  if (more.empty() && config.more_given) json["extra_special_tokens"] = more;
  for (const AddedToken& token : config.added)
    json["added_tokens_decoder"][fmt::format("{}", token.id)] = {
        {"content", token.content}, {"lstrip", token.lstrip},           {"normalized", token.normalized},
        {"rstrip", token.rstrip},   {"single_word", token.single_word}, {"special", token.special}};
  if (!config.other_keys.empty()) json.update(parse_json(config.other_keys, "TokenizerConfig: other_keys", 32));
  return json;
}

std::string text_of(const nlohmann::ordered_json& json) { return json.dump(2) + "\n"; }

}  // namespace

std::string tokenizer_config_json(const TokenizerConfig& config) { return text_of(json_of(config)); }

void write_tokenizer_config(const std::string& folder, const TokenizerConfig& config) {
  const nlohmann::ordered_json json = json_of(config);
  write_in_folder(folder, "tokenizer_config.json", text_of(json));
  // The file would replace the template just written.
  if (json.contains("chat_template")) remove_path(join_path(folder, kChatTemplate));
}

std::vector<std::string> special_names(const TokenizerConfig& config) {
  std::vector<std::string> out;
  for (const auto& [key, member] : kTokenNames)
    if (!(config.*member).empty()) out.push_back(config.*member);
  out.insert(out.end(), config.own.begin(), config.own.end());
  out.insert(out.end(), config.more.begin(), config.more.end());
  return out;
}

std::vector<AddedToken> tokens_to_add(const TokenizerConfig& config, std::span<const AddedToken> existing) {
  std::vector<AddedToken> out;
  std::unordered_map<std::string_view, const AddedToken*> known;
  for (const AddedToken& token : existing) known[token.content] = &token;
  const auto same = [](const AddedToken& a, const AddedToken& b) {
    return a.special == b.special && a.single_word == b.single_word && a.lstrip == b.lstrip && a.rstrip == b.rstrip &&
           a.normalized == b.normalized;
  };
  for (const AddedToken& token : config.added) {
    const auto found = known.find(token.content);
    if (found == known.end() || !same(*found->second, token)) out.push_back(token);
  }
  std::unordered_set<std::string> listed, named;
  for (const AddedToken& token : existing) listed.insert(token.content);
  for (const AddedToken& token : out) listed.insert(token.content);
  const auto add = [&](const std::string& name, const std::vector<AddedToken>& described) {
    if (name.empty() || listed.contains(name)) return;
    const auto found = std::ranges::find(described, name, &AddedToken::content);
    out.push_back(found != described.end() ? *found : AddedToken{.content = name, .special = true});
  };
  for (const auto& [key, member] : kTokenNames) {
    named.insert(config.*member);
    add(config.*member, config.described);
  }
  for (const std::string& name : config.own) {
    named.insert(name);
    add(name, config.described);
  }
  // For a token that is both named and in this list, the flags of the list apply.
  for (const std::string& name : config.more) add(name, config.described_more);
  for (AddedToken& token : out) token.special = token.special || named.contains(token.content);
  return out;
}

std::unique_ptr<const TokenTable> make_token_table(TokenTable::Entries vocabulary, const TokenizerConfig& config,
                                                   const std::string& where) {
  const auto size = static_cast<int64_t>(vocabulary.size());
  return std::make_unique<const TokenTable>(
      std::move(vocabulary),
      [&](const TokenTable::Own& own) { return missing_tokens(tokens_to_add(config), size, own); }, where);
}

std::vector<AddedToken> added_tokens(const TokenizerConfig& config, const TokenTable& table,
                                     std::span<const AddedToken> existing) {
  std::vector<AddedToken> out;
  std::unordered_map<std::string, size_t> places;
  const auto add = [&](AddedToken token) {
    const auto id = table.find(token.content);
    if (!id) return;
    token.id = *id;
    const auto [found, fresh] = places.try_emplace(token.content, out.size());
    if (fresh) return out.push_back(std::move(token));
    token.special = token.special || out[found->second].special;
    out[found->second] = std::move(token);
  };
  for (const AddedToken& token : existing) add(token);
  for (const AddedToken& token : tokens_to_add(config, existing)) add(token);
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
