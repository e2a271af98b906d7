#pragma once

#include <memory>
#include <string>
#include <vector>

#include "folder/config.h"
#include "steps/added_tokens.h"
#include "table_tokenizer.h"

namespace tape::text {

class SentencePieceModel;

/// Base of tokenizers that split with a SentencePiece model but take ids from a separate vocabulary, by piece. Pieces
/// missing from the vocabulary become the unknown token.
class MappedSentencePiece : public TableTokenizer {
 public:
  ~MappedSentencePiece() override;

  std::vector<std::string> explain(std::string_view text) const override;

 protected:
  /// Throws Error (format) `where: ...` if the vocabulary lacks the configured unk, eos or pad.
  MappedSentencePiece(std::shared_ptr<const SentencePieceModel> model, std::shared_ptr<const TokenTable> table,
                      TokenizerConfig config, const std::string& where);

  const std::shared_ptr<const SentencePieceModel>& model() const { return model_; }
  const TokenizerConfig& config() const { return config_; }

  void split(std::string_view text, std::vector<Piece>& to) const override;
  /// Splits the text between added tokens; `text` begins at that byte of the whole.
  virtual void split_part(std::string_view text, uint32_t at, std::vector<Piece>& to) const;
  std::string join(std::span<const int64_t> ids) const override;

 private:
  std::shared_ptr<const SentencePieceModel> model_;
  std::vector<int32_t> ids_;  // id of each piece of the model
  AddedTokens added_;
  TokenizerConfig config_;
};

}  // namespace tape::text
