#pragma once

#include "tokenizer.h"
#include "tokenizers/language_kind.h"

namespace tape::text {

/// The tokenizer of a model folder in the Hugging Face layout, of what it finds first:
///   source.spm, target.spm, vocab.json    Marian
///   tokenizer.json                        WordPiece, byte-level BPE, and those converted from SentencePiece
///   sentencepiece.bpe.model, vocab.json   M2M100, by its class
///   vocab.txt                             WordPiece (BERT)
///   vocab.json, merges.txt                byte-level BPE: GPT-2, or RoBERTa and BART by their class
///   one *.model or *.spm                  PieceTokenizer by its class (Llama, T5, XLM-R, mBART, NLLB, ...); else the
///                                         library's own SentencePiece
/// The class is tokenizer_class of tokenizer_config.json or config.json, else that of config.json's model_type. The
/// special tokens are those that `transformers` 5.23 finds in `tokenizer_config.json`, `special_tokens_map.json` and
/// `added_tokens.json`. Truncation and padding written in tokenizer.json are not honoured: they are given with each
/// call. Error (io) naming the folder when there is none of these; (format) naming file and entry for one that is
/// malformed, and the tokenizer_class for one whose ids such files alone do not give (ALBERT, XLNet, and others).
///
/// `languages`: of a tokenizer of several, which of them it is to read and to write. Error (config) where it has none.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder, const Languages& languages = {});

/// Removes the files that any tokenizer is saved as, so that none is found beside one that is saved next. Error (io)
/// naming the file that cannot be removed.
void remove_tokenizer(const std::string& folder);

}  // namespace tape::text
