#pragma once

#include <memory>
#include <string>

#include "language_pipeline.h"

namespace tape::text {

class JsonEntry;
class JsonModel;

/// A tokenizer as the package `tokenizers` saves it (tokenizer.json):
///   model           WordPiece, BPE (without dropout), Unigram, WordLevel
///   normalizer      BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Nmt,
///                   ByteLevel, Precompiled, Sequence
///   pre_tokenizer   BertPreTokenizer, ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace, WhitespaceSplit,
///                   CharDelimiterSplit, FixedLength, Sequence
///   post_processor  TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence
///   decoder         WordPiece, ByteLevel, Metaspace, BPEDecoder, CTC, Replace, ByteFallback, Fuse, Strip, Sequence
/// Anything else (UnicodeScripts, dropout) is an Error (format) that names the entry and its type. "truncation" and
/// "padding" are kept by save, and given with each call. Regular expressions are those of Oniguruma.
/// NFKC and NFKD are those of the Unicode version that utf8proc knows.
class TokenizerJson : public LanguagePipeline {
 public:
  /// Reads tokenizer.json of a folder, and the special tokens' names as `transformers` does: of tokenizer_config.json
  /// and special_tokens_map.json, else those of its tokenizer class, else none.
  ///
  /// One of NLLB, mBART or mBART-50 (by tokenizer_class) encodes texts in src_lang of tokenizer_config.json, and
  /// target() those in tgt_lang, unless others are asked for. Error (format) listing the languages for one that it
  /// lacks.
  static std::unique_ptr<TokenizerJson> load(const std::string& folder, const Languages& languages = {});

  /// Writes tokenizer.json as it was read, and tokenizer_config.json with the languages that were asked for.
  void save(const std::string& folder) const override;

 private:
  TokenizerJson(const JsonEntry& file, JsonModel model, TokenizerConfig config, std::string content);
  void choose(const Languages& languages, const std::string& where);
  void read_template(const JsonEntry& entry);
  using PartList = std::vector<Part>;
  std::vector<PartList> processed(const JsonEntry& entry, std::vector<PartList> encodings) const;
  std::vector<PartList> from_template(const JsonEntry& entry, const std::vector<PartList>& encodings) const;
  Part special_part(const JsonEntry& entry) const;

  std::string content_;
};

}  // namespace tape::text
