#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer.h"

namespace tape::text {

class SentencePieceModel;

/// Options of a SentencePiece tokenizer.
struct SentencePieceOptions {
  bool add_bos = false,  ///< prepend the start token
      add_eos = false;   ///< append the end token
};

/// A model of the sentencepiece library (Kudo and Richardson 2018), unigram or BPE, with the library's ids,
/// normalization and splitting. Invalid UTF-8 reads as U+FFFD.
///
/// The model file must be trusted: libsentencepiece before 0.2.1 can write out of bounds for a malicious file
/// (CVE-2026-1260). Lengths, pieces and the character map are checked before the library sees the file.
class SentencePiece : public Tokenizer {
 public:
  /// Reads a *.model or *.spm file. Throws Error (format) with the file name.
  explicit SentencePiece(const std::string& file, const SentencePieceOptions& options = {});
  /// Takes the content of such a file; `where` names it in errors.
  static std::unique_ptr<SentencePiece> from_bytes(std::string bytes, const std::string& where,
                                                   const SentencePieceOptions& options = {});
  ~SentencePiece() override;

  int64_t vocab_size() const override;
  const std::string& token(int64_t id) const override;
  std::optional<int64_t> find(std::string_view token) const override;
  /// Whether a token is a control token (start, end, padding). False for the unknown token.
  bool is_special(int64_t id) const override;
  /// The log probability of a token (unigram), or its negated merge rank (BPE).
  double score(int64_t id) const;
  /// Content of the model file.
  const std::string& bytes() const;
  std::vector<std::string> explain(std::string_view text) const override;

  /// Writes the model under the name that `transformers` expects (unigram: T5Tokenizer's spiece.model, BPE:
  /// LlamaTokenizer's tokenizer.model) and tokenizer_config.json with "backend": "sentencepiece", so that
  /// load_tokenizer loads it as this class. `transformers` uses its own splitting code: T5's takes id 2 as the unknown
  /// token, Llama's does not normalize.
  void save(const std::string& folder) const override;

 private:
  SentencePiece(std::unique_ptr<SentencePieceModel> model, const SentencePieceOptions& options);
  void split(std::string_view text, std::vector<Piece>& to) const override;
  std::string join(std::span<const int64_t> ids) const override;

  std::unique_ptr<SentencePieceModel> model_;
  SentencePieceOptions options_;
};

}  // namespace tape::text
