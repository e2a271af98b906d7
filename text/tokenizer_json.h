#pragma once

#include <memory>
#include <string>

#include "tokenizers/config.h"
#include "tokenizers/pipeline.h"

namespace tape::text {

class JsonEntry;

/// A tokenizer as the package `tokenizers` saves it (tokenizer.json), of the kinds that `transformers` writes for BERT,
/// GPT-2 and models converted from SentencePiece:
///   model           WordPiece, BPE, Unigram
///   normalizer      BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace (a text, or
///                   runs of blanks), Precompiled, Sequence
///   pre_tokenizer   BertPreTokenizer, ByteLevel, Metaspace, WhitespaceSplit, Sequence
///   post_processor  TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence
///   decoder         WordPiece, ByteLevel, Metaspace, Replace (a text), ByteFallback, Fuse, Strip, Sequence
/// Anything else is an Error (format) that names the entry and its type. "truncation" and "padding" are not read.
/// NFKC and NFKD are those of the Unicode version that utf8proc knows.
class TokenizerJson : public Pipeline {
 public:
  /// Reads tokenizer.json of a folder, and tokenizer_config.json for the special tokens' names where it is; else those
  /// are known by what they usually are called.
  static std::unique_ptr<TokenizerJson> load(const std::string& folder);

  /// Writes tokenizer.json as it was read, and tokenizer_config.json.
  void save(const std::string& folder) const override;

 private:
  TokenizerJson(const JsonEntry& file, TokenizerConfig config, std::string content);
  void read_template(const JsonEntry& entry);
  void read_template_processing(const JsonEntry& entry);
  Part special_part(const JsonEntry& entry) const;

  TokenizerConfig config_;
  std::string content_;
};

}  // namespace tape::text
