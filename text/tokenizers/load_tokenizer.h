#pragma once

#include "folder/language_kind.h"
#include "tokenizer.h"

namespace tape::text {

/// Loads the tokenizer of a model folder in the Hugging Face layout: the first of these that is found:
///   source.spm, vocab.json                Marian, with target.spm unless it is the same
///   tokenizer.json                        WordPiece, byte-level BPE, and those converted from SentencePiece
///   sentencepiece.bpe.model, vocab.json   M2M100, by its class
///   vocab.txt                             WordPiece (BERT)
///   vocab.json, merges.txt                byte-level BPE: GPT-2, or RoBERTa and BART by their class
///   one *.model or *.spm                  PieceTokenizer by its class (Llama, T5, XLM-R, mBART, NLLB, ...); else
///                                         SentencePiece
/// The class is tokenizer_class in tokenizer_config.json or config.json, else the one for config.json's model_type. The
/// special tokens are those that `transformers` 5.23 finds in `tokenizer_config.json`, `special_tokens_map.json` and
/// `added_tokens.json`. Truncation and padding settings in tokenizer.json are ignored: pass them with each call. Throws
/// Error (io) with the folder if no tokenizer is found; Error (format) with file and entry for malformed content, and
/// with the tokenizer_class if its ids cannot be derived from these files (ALBERT, XLNet, and others).
///
/// `languages` chooses source and target language. Throws Error (config) if the tokenizer has no languages.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder, const Languages& languages = {});

/// Removes all tokenizer files, so that none remains next to a newly saved tokenizer. Throws Error (io) with the file
/// that cannot be removed.
void remove_tokenizer(const std::string& folder);

}  // namespace tape::text
