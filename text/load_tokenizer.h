#pragma once

#include "tokenizer.h"
#include "tokenizers/language_kind.h"

namespace tape::text {

/// The tokenizer of a model folder in the Hugging Face layout, of what it finds first:
///   source.spm, target.spm, vocab.json    Marian
///   tokenizer.json                        WordPiece, byte-level BPE, and those converted from SentencePiece
///   sentencepiece.bpe.model               XLM-R, mBART, mBART-50, NLLB, M2M100 (with vocab.json), by tokenizer_class
///   vocab.txt                             WordPiece (BERT)
///   vocab.json, merges.txt                byte-level BPE: GPT-2, or RoBERTa and BART by tokenizer_class
///   src_vocab.txt, tgt_vocab.txt          the number-words task of `tapeformer demo`
///   one *.model or *.spm                  SentencePiece, T5 with its sentinels by tokenizer_class
/// `tokenizer_config.json`, `special_tokens_map.json` and `added_tokens.json` are honoured where they are. Truncation
/// and padding written in tokenizer.json are not: they are given with each call. Error (io) naming the folder when
/// there is none of these; (format) naming file and entry for one that is malformed, and the tokenizer_class for one
/// whose ids such files alone do not give (CamemBERT, ALBERT, XLNet, and others).
///
/// `languages`: of a tokenizer of several, which of them it is to read and to write. Error (config) where it has none.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder, const Languages& languages = {});

/// Removes the files that any tokenizer is saved as, so that none is found beside one that is saved next. Error (io)
/// naming the file that cannot be removed.
void remove_tokenizer(const std::string& folder);

}  // namespace tape::text
