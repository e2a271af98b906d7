#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "added_tokens.h"
#include "json_entry.h"
#include "token_table.h"

namespace tape::text {

/// What `tokenizer_config.json`, `special_tokens_map.json` and `added_tokens.json` say.
struct TokenizerConfig {
  /// The special tokens' names; empty: none.
  std::string bos, eos, unk, sep, pad, cls, mask;
  std::vector<AddedToken> added;           ///< by the ids that the files give, which order them
  std::vector<AddedToken> described;       ///< tokens of the names that are given with their flags, without ids
  std::vector<AddedToken> described_more;  ///< and of `more`
  std::vector<std::string> own;            ///< named as no other tokenizer does (`image_token`)
  std::vector<std::string> more;           ///< further special tokens
  bool more_given = false;                 ///< whether tokenizer_config.json lists them, be it none
  std::optional<bool> do_lower_case, strip_accents, tokenize_chinese_chars, add_prefix_space, trim_offsets,
      add_bos_token, add_eos_token, separate_vocabs, legacy_behaviour, legacy, clean_up_tokenization_spaces;
  std::optional<int64_t> extra_ids;                ///< T5's sentinels
  std::string src_lang, tgt_lang, language_codes;  ///< of translators of many languages
  std::string tokenizer_class, backend;
};

/// Reads the files of a folder that are there, as `transformers` 5.23 does: tokenizer_config.json, and where that has
/// no added_tokens_decoder, over it special_tokens_map.json, and the tokens of added_tokens.json, {"token": id, ...}.
/// Names that no file gives are those of `defaults`; null is none.
TokenizerConfig read_tokenizer_config(const std::string& folder, const TokenizerConfig& defaults);

/// An added token as both tokenizer.json and tokenizer_config.json write it, without its id.
AddedToken read_added_token(const JsonEntry& entry);

/// The JSON text of tokenizer_config.json.
std::string tokenizer_config_json(const TokenizerConfig& config);

/// The names above, then `own` and `more`.
std::vector<std::string> special_names(const TokenizerConfig& config);

/// The tokens that `transformers` adds to those a tokenizer has (`existing`, with their flags), in its order: those
/// that the files list, where they differ, then the special names that are not among them.
std::vector<AddedToken> tokens_to_add(const TokenizerConfig& config, std::span<const AddedToken> existing = {});

/// Those that a vocabulary lacks, which get the ids from `next` on. `known` tells what it has.
template <class Known>
TokenTable::Entries missing_tokens(std::span<const AddedToken> tokens, int64_t next, Known&& known) {
  TokenTable::Entries out;
  std::unordered_set<std::string> seen;
  for (const AddedToken& token : tokens)
    if (!token.content.empty() && !known(token.content) && seen.insert(token.content).second)
      out.emplace_back(token.content, next++);
  return out;
}

/// A vocabulary with the tokens that it lacks. Errors as TokenTable.
std::unique_ptr<const TokenTable> table_of(TokenTable::Entries vocabulary, const TokenizerConfig& config,
                                           const std::string& where);

/// The existing tokens and those to add, with the table's ids, each once: the last one's flags hold, and a token that
/// was special once stays special. What the table lacks is left out.
std::vector<AddedToken> added_tokens(const TokenizerConfig& config, const TokenTable& table,
                                     std::span<const AddedToken> existing = {});

/// The ids of the special names.
SpecialTokens special_ids(const TokenizerConfig& config, const TokenTable& table);

}  // namespace tape::text
