#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "../steps/added_tokens.h"
#include "../token_table.h"

namespace tape::text {

class JsonEntry;

/// Content of `tokenizer_config.json`, `special_tokens_map.json` and `added_tokens.json`.
struct TokenizerConfig {
  /// Names of special tokens; "" for none.
  std::string bos, eos, unk, sep, pad, cls, mask;
  std::vector<AddedToken> added;           ///< tokens listed with ids, in order of their ids
  std::vector<AddedToken> described;       ///< named special tokens given with flags, without ids
  std::vector<AddedToken> described_more;  ///< same for `more`
  std::vector<std::string> own;            ///< special tokens specific to this tokenizer (`image_token`)
  std::vector<std::string> more;           ///< additional special tokens
  bool more_given = false;                 ///< whether tokenizer_config.json lists them, even as an empty list
  std::optional<bool> do_lower_case, strip_accents, tokenize_chinese_chars, add_prefix_space, trim_offsets,
      add_bos_token, add_eos_token, separate_vocabs, legacy_behaviour, legacy, clean_up_tokenization_spaces,
      keep_accents, split_by_punct;
  std::optional<int64_t> extra_ids;                ///< number of T5's sentinels
  std::string src_lang, tgt_lang, language_codes;  ///< for multilingual translation models
  std::string tokenizer_class, backend;
  /// The file's other keys (padding_side, model_max_length, chat_template, ...), as the text of a JSON object or empty.
  /// They change no ids here and are written back. chat_template.jinja counts as "chat_template".
  std::string other_keys;
};

/// Reads the files of a folder as `transformers` 5.23 does: tokenizer_config.json and, if it has no
/// added_tokens_decoder, special_tokens_map.json, which overrides it, and added_tokens.json, {"token": id, ...}. All
/// are optional. Names that no file gives come from `defaults`; null means none.
TokenizerConfig read_tokenizer_config(const std::string& folder, const TokenizerConfig& defaults);

/// Reads an added token in the format of tokenizer.json and tokenizer_config.json, without its id.
AddedToken read_added_token(const JsonEntry& entry);

/// Serializes tokenizer_config.json.
std::string tokenizer_config_json(const TokenizerConfig& config);
/// Writes it into a folder.
void write_tokenizer_config(const std::string& folder, const TokenizerConfig& config);

/// All names of special tokens, then `own` and `more`.
std::vector<std::string> special_names(const TokenizerConfig& config);

/// The tokens that `transformers` adds to a tokenizer's `existing` ones, in its order: those listed in the files if
/// their flags differ, then missing special tokens.
std::vector<AddedToken> tokens_to_add(const TokenizerConfig& config, std::span<const AddedToken> existing = {});

/// The tokens that are not in a vocabulary, by `known`, with ids from `next` on.
template <class Known>
TokenTable::Entries missing_tokens(std::span<const AddedToken> tokens, int64_t next, Known&& known) {
  TokenTable::Entries out;
  std::unordered_set<std::string> seen;
  for (const AddedToken& token : tokens)
    if (!token.content.empty() && !known(token.content) && seen.insert(token.content).second)
      out.emplace_back(token.content, next++);
  return out;
}

/// A vocabulary extended by the missing tokens. Errors as for TokenTable.
std::unique_ptr<const TokenTable> make_token_table(TokenTable::Entries vocabulary, const TokenizerConfig& config,
                                                   const std::string& where);

/// The existing tokens and those to add, with the ids of the table, without duplicates: the last one's flags apply, but
/// a token that was ever special stays special. Tokens that are not in the table are left out.
std::vector<AddedToken> added_tokens(const TokenizerConfig& config, const TokenTable& table,
                                     std::span<const AddedToken> existing = {});

/// The ids of the named special tokens.
SpecialTokens special_ids(const TokenizerConfig& config, const TokenTable& table);

}  // namespace tape::text
