#pragma once

#include "sentence_piece.h"

namespace tape::text {

enum class SentencePieceKind { unigram, bpe };

struct TrainSentencePieceOptions {
  int64_t vocab_size = 8000;  ///< tokens in all
  bool exact_size = true;     ///< Error (config) where the corpus has not so many; false: fewer then
  SentencePieceKind kind = SentencePieceKind::unigram;
  double character_coverage = 0.9995;  ///< share of the corpus's characters that get a token; the others are unknown
  bool byte_fallback = false;          ///< unknown characters become their bytes' tokens
  /// `nmt_nfkc`, `nmt_nfkc_cf` (with lower case), `nfkc`, `nfkc_cf` or `identity`.
  std::string normalization = "nmt_nfkc";
  int64_t pad_id = 0, eos_id = 1, unk_id = 2, bos_id = -1;  ///< -1: none
  std::vector<std::string> symbols = {};                    ///< tokens that are always found whole
  SentencePieceOptions encode = {};                         ///< of the tokenizer that is made
};

/// Learns a model from lines of text (unigram: Kudo 2018; BPE: Sennrich, Haddow, Birch 2016) with the library
/// sentencepiece, on one thread: the same lines give the same model. Prints nothing. Error (config) for a corpus
/// without a character or options that the library refuses, with its reason.
std::unique_ptr<SentencePiece> train_sentencepiece(std::span<const std::string> lines,
                                                   const TrainSentencePieceOptions& options = {});

}  // namespace tape::text
