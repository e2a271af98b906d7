#pragma once

#include <memory>
#include <string>

#include "mapped_sentence_piece.h"

namespace tape::text {

/// The tokenizer of T5 and its relatives (Raffel et al. 2020), equal to `transformers`' T5Tokenizer that reads
/// spiece.model: a SentencePiece model with its own ids, behind whose pieces stand `extra_ids` sentinels, the last of
/// them, <extra_id_0>, with the highest id, and text </s>. Sentinels and the named tokens are cut out of a text before
/// it is split. (`transformers` before 5 splits otherwise with "legacy": false, which is read as it is since: like
/// true.)
///
/// The model's file is trusted input, see SentencePiece.
class T5Tokenizer : public MappedSentencePiece {
 public:
  /// Where extra_ids is not given: as the class has it.
  static constexpr int64_t kExtraIds = 100;

  /// Reads a SentencePiece model, `file` of the folder, and tokenizer_config.json. Error (format) naming file and entry
  /// for what is malformed, and for extra_ids that are negative or more than 100,000.
  static std::unique_ptr<T5Tokenizer> load(const std::string& folder, const std::string& file);

  /// Writes the files that load reads.
  void save(const std::string& folder) const override;

 private:
  T5Tokenizer(std::shared_ptr<const SentencePieceModel> model, std::shared_ptr<const TokenTable> table,
              const TokenizerConfig& config, const std::string& folder);
};

}  // namespace tape::text
