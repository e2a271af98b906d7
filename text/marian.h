#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mapped_sentence_piece.h"

namespace tape::text {

/// The tokenizer of Marian's translation models (Junczys-Dowmunt et al. 2018), equal to `transformers`'
/// MarianTokenizer: a SentencePiece model a side splits the text, and a vocabulary of its own gives the ids. The end
/// token stands behind the text. A leading `>>xyz<<` is one token, the target language.
///
/// This object encodes the source side; target() the other one. The *.spm files are trusted input, see SentencePiece.
class Marian : public MappedSentencePiece {
 public:
  /// What a model is made of: the content of both model files, and the tokens of the joint vocabulary (or of the
  /// source's, where `target_vocabulary` is not empty) with their ids. It must have the names of unk, eos and pad.
  struct Parts {
    std::string source_spm, target_spm;
    TokenTable::Entries vocabulary, target_vocabulary = {};
    std::string unk = "<unk>", eos = "</s>", pad = "<pad>";
  };
  /// Error (format) for a part that is malformed.
  static std::unique_ptr<Marian> from_parts(Parts parts);
  /// Reads source.spm, target.spm, vocab.json, target_vocab.json where it is, and tokenizer_config.json of a folder.
  static std::unique_ptr<Marian> load(const std::string& folder);

  /// Encodes texts of the target language.
  const Marian& target() const override { return target_ ? *target_ : *this; }
  /// Writes the files that load reads.
  void save(const std::string& folder) const override;

 private:
  /// One side. `spm_file` and `vocabulary_file` are their names in errors.
  Marian(std::string spm, std::shared_ptr<const TokenTable> table, const TokenizerConfig& config,
         const std::string& spm_file, const std::string& vocabulary_file);
  /// Both; file names begin with `prefix`.
  static std::unique_ptr<Marian> make(Parts parts, const TokenizerConfig& config, const std::string& prefix);

  void split_part(std::string_view text, uint32_t at, std::vector<Piece>& to) const override;

  std::unique_ptr<Marian> target_;
};

}  // namespace tape::text
