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

/// The steps that tokenizer.json describes; null for a JSON null. Error (format) naming the entry for a type or setting
/// that is not known.
Normalizer json_normalizer(const JsonEntry& entry);
/// `bytes` says that the model may be given words as bytes, and then whether it is: where the last step is ByteLevel.
/// Else the bytes are written as characters.
PreTokenizer json_pre_tokenizer(const JsonEntry& entry, bool& bytes);
Decoder json_decoder(const JsonEntry& entry);

/// "model" of tokenizer.json: its vocabulary, and the model once the table of all tokens is made.
class JsonModel {
 public:
  /// `entry` must outlive it.
  explicit JsonModel(const JsonEntry& entry);

  /// To be taken once.
  TokenTable::Entries take_vocabulary() { return std::move(vocabulary_); }
  /// The unknown token, "" for none.
  const std::string& unk_token() const { return unk_token_; }
  bool is_bpe() const { return type_ == "BPE"; }
  /// Whether the vocabulary has a token; before it is taken.
  bool knows(std::string_view token) const;
  /// Whether words may be bytes while the tokens are written in GPT-2's alphabet.
  bool takes_bytes() const;
  /// `bytes`: they are.
  WordModelPtr make(const TokenTable& table, bool bytes) const;

 private:
  void read_vocabulary();
  Merges read_merges() const;
  WordModelPtr make_bpe(const TokenTable& table, bool bytes) const;

  JsonEntry entry_;
  std::string type_;
  TokenTable::Entries vocabulary_;
  std::vector<double> scores_;  // of Unigram
  std::string unk_token_;
};

}  // namespace tape::text
