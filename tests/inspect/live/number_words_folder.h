#pragma once

#include "autograd/random.h"
#include "models/encoder_decoders/transformer.h"
#include "models/folders/folder.h"
#include "tests/support/temporary_folder.h"
#include "text/corpus/number_words.h"
#include "text/tokenizers/marian.h"
#include "text/tokenizers/sentence_piece.h"
#include "text/tokenizers/train_sentence_piece.h"

namespace tape::inspect {

/// A folder like that of `tapeformer demo`: a translator of number words, of width 16, with the demo's tokenizer.
class NumberWordsFolder {
 public:
  NumberWordsFolder() {
    std::vector<std::string> lines;
    for (int64_t number = 0; number < 1000; ++number) {
      lines.push_back(text::german_number(number));
      lines.push_back(text::english_number(number));
    }
    const auto pieces = text::train_sentencepiece(lines, {.vocab_size = 80,
                                                          .exact_size = false,
                                                          .kind = text::SentencePieceKind::bpe,
                                                          .character_coverage = 1,
                                                          .pad_id = 1,
                                                          .eos_id = 0,
                                                          .unk_id = 2});
    text::Marian::Parts parts{.source_spm = pieces->bytes(), .target_spm = pieces->bytes(), .vocabulary = {}};
    for (int64_t id = 0; id < pieces->vocab_size(); ++id) parts.vocabulary.emplace_back(pieces->token(id), id);
    text::Marian::from_parts(std::move(parts))->save(path());
    manual_seed(3);
    models::save(path(), models::Transformer({.src_vocab = pieces->vocab_size(),
                                              .tgt_vocab = pieces->vocab_size(),
                                              .d_model = 16,
                                              .layers = 1,
                                              .heads = 2,
                                              .d_ff = 32,
                                              .dropout = 0,
                                              .norm = nn::NormPlace::pre,
                                              .max_length = 64,
                                              .positions = nn::SinusoidLayout::fairseq,
                                              .position_offset = 2,
                                              .padding_id = 1,
                                              .bos_id = 0,
                                              .eos_id = 0,
                                              .share_embeddings = true,
                                              .tie_output = true}));
  }

  std::string path() const { return temporary_.path(); }

 private:
  const TemporaryFolder temporary_;
};

}  // namespace tape::inspect
