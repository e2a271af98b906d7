#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "added_tokens.h"
#include "json_entry.h"
#include "token_table.h"

namespace tape::text {

/// What `tokenizer_config.json` and `special_tokens_map.json` say.
struct TokenizerConfig {
  /// The special tokens' names; empty: none.
  std::string bos, eos, unk, sep, pad, cls, mask;
  std::vector<AddedToken> added;
  std::vector<AddedToken> described;  ///< those of the names that are given with their flags, without ids
  std::vector<std::string> more;      ///< further special tokens
  std::optional<bool> do_lower_case, strip_accents, tokenize_chinese_chars, add_prefix_space, trim_offsets,
      add_bos_token, add_eos_token, separate_vocabs, legacy_behaviour;
  std::optional<int64_t> extra_ids;                ///< T5's sentinels
  std::string src_lang, tgt_lang, language_codes;  ///< of translators of many languages
  std::string tokenizer_class;
};

/// Reads both files of a folder where they are, and added_tokens.json, {"token": id, ...}, which older releases of
/// `transformers` wrote; names that none gives are those of `defaults`.
TokenizerConfig read_tokenizer_config(const std::string& folder, const TokenizerConfig& defaults);

/// An added token as both tokenizer.json and tokenizer_config.json write it, without its id.
AddedToken read_added_token(const JsonEntry& entry);

/// The JSON text of tokenizer_config.json.
std::string tokenizer_config_json(const TokenizerConfig& config);

/// Writes a file of a folder, which is made where it is missing.
void write_in_folder(const std::string& folder, const std::string& name, std::string_view content);

/// The names above, `more` included, in the order in which `transformers` appends those that the vocabulary lacks.
std::vector<std::string> special_names(const TokenizerConfig& config);

/// Tokens that a vocabulary of `size` entries lacks, with the ids that follow it: those of config.added, which have
/// ids, and special names. `known` tells what the vocabulary has.
template <class Known>
TokenTable::Entries missing_tokens(const TokenizerConfig& config, int64_t size, Known&& known) {
  TokenTable::Entries out;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& content, int64_t id) {
    if (!content.empty() && !known(content) && seen.insert(content).second) out.emplace_back(content, id);
  };
  for (const AddedToken& token : config.added) add(token.content, token.id);
  for (const std::string& name : special_names(config)) add(name, size + static_cast<int64_t>(out.size()));
  return out;
}

/// A vocabulary with the tokens that it lacks. Errors as TokenTable.
std::unique_ptr<const TokenTable> table_of(TokenTable::Entries vocabulary, const TokenizerConfig& config,
                                           const std::string& where);

/// The added tokens of a config: those that it lists, and its special names.
std::vector<AddedToken> added_tokens(const TokenizerConfig& config, const TokenTable& table);

/// The ids of the special names.
SpecialTokens special_ids(const TokenizerConfig& config, const TokenTable& table);

}  // namespace tape::text
