#pragma once

#include <memory>
#include <vector>

#include "decoder.h"
#include "json_entry.h"
#include "model.h"
#include "normalizer.h"
#include "pre_tokenizer.h"
#include "word_models.h"

namespace tape::text {

/// Creates the steps described in tokenizer.json; null for a JSON null. Throws Error (format) with the entry for an
/// unknown type or setting.
Normalizer json_normalizer(const JsonEntry& entry);
/// `bytes`: on entry, whether the model can take words as raw bytes; on return, whether it does, which needs ByteLevel
/// as the last step. Otherwise the bytes are written as characters.
PreTokenizer json_pre_tokenizer(const JsonEntry& entry, bool& bytes);
Decoder json_decoder(const JsonEntry& entry);

/// "model" in tokenizer.json: first its vocabulary, then, from the table of all tokens, the model itself.
class JsonModel {
 public:
  /// `entry` must outlive this object.
  explicit JsonModel(const JsonEntry& entry);

  /// May be called once.
  TokenTable::Entries take_vocabulary() { return std::move(vocabulary_); }
  /// The unknown token, "" if there is none.
  const std::string& unk_token() const { return unk_token_; }
  bool is_bpe() const { return type_ == "BPE"; }
  /// Whether the vocabulary has a token. Call before take_vocabulary().
  bool knows(std::string_view token) const;
  /// Whether words may be raw bytes while the vocabulary uses GPT-2's alphabet.
  bool takes_bytes() const;
  /// `bytes`: whether words are raw bytes.
  WordModelPtr make(const TokenTable& table, bool bytes) const;

 private:
  void read_vocabulary();
  Merges read_merges() const;
  WordModelPtr make_bpe(const TokenTable& table, bool bytes) const;

  JsonEntry entry_;
  std::string type_;
  TokenTable::Entries vocabulary_;
  std::vector<double> scores_;  // for Unigram
  std::string unk_token_;
};

}  // namespace tape::text
