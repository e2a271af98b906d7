#pragma once

#include "sentence_piece.h"

namespace tape::text {

/// Segmentation algorithm of a SentencePiece model.
enum class SentencePieceKind { unigram, bpe };

/// Options of train_sentencepiece().
struct TrainSentencePieceOptions {
  int64_t vocab_size = 8000;  ///< total number of tokens
  bool exact_size = true;     ///< throw Error (config) if the corpus is too small for it; false: accept fewer
  SentencePieceKind kind = SentencePieceKind::unigram;  ///< algorithm
  double character_coverage = 0.9995;  ///< fraction of the corpus's characters with a token; the rest are unknown
  bool byte_fallback = false;          ///< encode unknown characters as byte tokens
  /// `nmt_nfkc`, `nmt_nfkc_cf` (with lowercasing), `nfkc`, `nfkc_cf` or `identity`.
  std::string normalization = "nmt_nfkc";
  /// Ids of special tokens; -1: none. All models need unk.
  /// @{
  int64_t pad_id = 0, eos_id = 1, unk_id = 2, bos_id = -1;
  /// @}
  std::vector<std::string> symbols = {};  ///< tokens that are never split
  SentencePieceOptions encode = {};       ///< options of the resulting tokenizer
};

/// Trains a model on lines of text (unigram: Kudo 2018; BPE: Sennrich, Haddow, Birch 2016) with the sentencepiece
/// library, deterministically on one thread and without output. Throws Error (config) for a corpus without characters
/// and, with the library's message, for options that it rejects.
std::unique_ptr<SentencePiece> train_sentencepiece(std::span<const std::string> lines,
                                                   const TrainSentencePieceOptions& options = {});

}  // namespace tape::text
