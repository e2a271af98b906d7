#pragma once

#include <memory>
#include <string>

#include "language_pipeline.h"

namespace tape::text {

class JsonEntry;
class JsonModel;

/// A tokenizer in the format of the `tokenizers` package (tokenizer.json):
///   model           WordPiece, BPE (without dropout), Unigram, WordLevel
///   normalizer      BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Nmt,
///                   ByteLevel, Precompiled, Sequence
///   pre_tokenizer   BertPreTokenizer, ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace, WhitespaceSplit,
///                   CharDelimiterSplit, FixedLength, Sequence
///   post_processor  TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence
///   decoder         WordPiece, ByteLevel, Metaspace, BPEDecoder, CTC, Replace, ByteFallback, Fuse, Strip, Sequence
/// Throws Error (format) with the entry and its type for anything else (UnicodeScripts, dropout). save preserves
/// "truncation" and "padding", but they are ignored: pass them with each call. Regular expressions are Oniguruma's.
/// NFKC and NFKD use the Unicode version of utf8proc.
class TokenizerJson : public LanguagePipeline {
 public:
  /// Reads tokenizer.json from a folder, and the names of special tokens as `transformers` does: from
  /// tokenizer_config.json and special_tokens_map.json, else from the tokenizer class, else none. As in
  /// `transformers`, options of tokenizer_config.json replace those of tokenizer.json: do_lower_case, strip_accents and
  /// tokenize_chinese_chars for BERT's classes, add_prefix_space for those of GPT-2, RoBERTa, Llama (with legacy),
  /// XLM-RoBERTa, CamemBERT, ALBERT (with do_lower_case and keep_accents) and DeBERTa-v2 (with do_lower_case and
  /// split_by_punct).
  ///
  /// A tokenizer of NLLB, mBART or mBART-50 (by its class, see tokenizer_class_of()) encodes texts in src_lang of
  /// tokenizer_config.json, and target() those in tgt_lang; `languages` overrides both. Throws Error (format) with the
  /// list of languages for an unknown one.
  static std::unique_ptr<TokenizerJson> load(const std::string& folder, const Languages& languages = {});

  /// Writes tokenizer.json with the options replaced in load, and tokenizer_config.json with the languages chosen.
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
