#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer.h"

namespace tape::text {

class SentencePieceModel;

struct SentencePieceOptions {
  bool add_bos = false, add_eos = false;  ///< tokens before and behind the text
};

/// A model of the library sentencepiece (Kudo and Richardson 2018), unigram or BPE, with the library's own ids:
/// normalizing and splitting are the library's. Broken UTF-8 reads as U+FFFD.
///
/// A model file is trusted input: libsentencepiece before 0.2.1 can write past its memory when a file was made to do
/// harm (CVE-2026-1260). What can be checked before it sees the file is checked (lengths, pieces, the character map).
class SentencePiece : public Tokenizer {
 public:
  /// Reads a *.model or *.spm file. Error (format) naming the file.
  explicit SentencePiece(const std::string& file, const SentencePieceOptions& options = {});
  /// The content of such a file; `where` names it in errors.
  static std::unique_ptr<SentencePiece> from_bytes(std::string bytes, const std::string& where,
                                                   const SentencePieceOptions& options = {});
  ~SentencePiece() override;

  int64_t vocab_size() const override;
  const std::string& token(int64_t id) const override;
  std::optional<int64_t> find(std::string_view token) const override;
  /// True for control tokens (start, end, padding), not for the unknown token.
  bool is_special(int64_t id) const override;
  /// The log probability of a token (unigram), or minus its merge's rank (BPE).
  double score(int64_t id) const;
  /// The file's content.
  const std::string& bytes() const;
  std::vector<std::string> explain(std::string_view text) const override;

  /// Writes the model under the name that `transformers` looks for (unigram: T5Tokenizer's spiece.model, BPE:
  /// LlamaTokenizer's tokenizer.model) and tokenizer_config.json, whose "backend": "sentencepiece" makes load_tokenizer
  /// read it as this class again. `transformers` splits with code of its own: T5's takes id 2 as the unknown token,
  /// Llama's does not normalize.
  void save(const std::string& folder) const override;

 private:
  SentencePiece(std::unique_ptr<SentencePieceModel> model, const SentencePieceOptions& options);
  void split(std::string_view text, std::vector<Piece>& to) const override;
  std::string join(std::span<const int64_t> ids) const override;

  std::unique_ptr<SentencePieceModel> model_;
  SentencePieceOptions options_;
};

}  // namespace tape::text
