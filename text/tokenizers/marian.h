#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mapped_sentence_piece.h"

namespace tape::text {

/// The tokenizer of Marian translation models (Junczys-Dowmunt et al. 2018), with the same results as `transformers`'
/// MarianTokenizer: one SentencePiece model per side splits the text, and a separate vocabulary gives the ids. The end
/// token is appended. A leading `>>xyz<<` is one token, the target language.
///
/// This object encodes the source side, target() the target side. The *.spm files must be trusted, see SentencePiece.
class Marian : public MappedSentencePiece {
 public:
  /// Parts of a tokenizer: the content of both model files, and the tokens of the joint vocabulary (or of the source's,
  /// if `target_vocabulary` is not empty) with their ids. It must contain unk, eos and pad.
  struct Parts {
    std::string source_spm,          ///< content of the source's SentencePiece model
        target_spm;                  ///< content of the target's
    TokenTable::Entries vocabulary,  ///< tokens and ids, joint or of the source
        target_vocabulary = {};      ///< of the target; empty: `vocabulary` is joint
    std::string unk = "<unk>",       ///< unknown token
        eos = "</s>",                ///< end token, appended to texts
        pad = "<pad>";               ///< padding
  };
  /// Throws Error (format) for a malformed part.
  static std::unique_ptr<Marian> from_parts(Parts parts);
  /// Reads source.spm, target.spm (default: source.spm), vocab.json, target_vocab.json if present, and
  /// tokenizer_config.json from a folder.
  static std::unique_ptr<Marian> load(const std::string& folder);

  /// Encodes texts of the target language.
  const Marian& target() const override { return target_ ? *target_ : *this; }
  /// Writes the files that load reads.
  void save(const std::string& folder) const override;

 private:
  /// One side. `spm_file` and `vocabulary_file` are names for error messages.
  Marian(std::string spm, std::shared_ptr<const TokenTable> table, const TokenizerConfig& config,
         const std::string& spm_file, const std::string& vocabulary_file);
  /// Both sides; file names in error messages begin with `prefix`.
  static std::unique_ptr<Marian> make(Parts parts, const TokenizerConfig& config, const std::string& prefix);

  void split_part(std::string_view text, uint32_t at, std::vector<Piece>& to) const override;

  std::unique_ptr<Marian> target_;
};

}  // namespace tape::text
