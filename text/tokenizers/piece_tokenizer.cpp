#include "text/tokenizers/piece_tokenizer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/piece_kind.h"
#include "text/tokenizers/steps/trie.h"

namespace tape::text {
namespace {

/// Llama 2 has two merges per piece.
constexpr size_t kMostMerges = 32, kMergesOfAny = 1000;

/// Whether a piece ends after each byte of a text.
std::vector<bool> ends_of(const Trie& pieces, const std::string& text) {
  std::vector<bool> out(text.size());
  uint32_t node = Trie::kRoot;
  for (size_t at = 0; at < text.size() && pieces.step(node, text[at]); ++at)
    out[at] = pieces.value(node) != Trie::kNone;
  return out;
}

std::string reversed(std::string text) {
  std::reverse(text.begin(), text.end());
  return text;
}

/// Derives the merges of a SentencePiece model as `transformers` does: every pair of pieces whose concatenation is a
/// piece, in order of the resulting piece, shorter left part first. Throws Error (format) `where: ...` if pieces can be
/// split in so many ways that a small file would exhaust memory.
Merges merges_of_pieces(const SentencePieceTable& model, const std::string& where) {
  Trie forward, backward;
  for (const SentencePieceEntry& piece : model.pieces) {
    forward.add(piece.name, 0);
    backward.add(reversed(piece.name), 0);
  }
  Merges out;
  for (const SentencePieceEntry& piece : model.pieces) {
    const std::vector<bool> left = ends_of(forward, piece.name), right = ends_of(backward, reversed(piece.name));
    for (size_t cut = 1; cut < piece.name.size(); ++cut)
      if (left[cut - 1] && right[piece.name.size() - cut - 1])
        out.emplace_back(piece.name.substr(0, cut), piece.name.substr(cut));
    if (out.size() > kMostMerges * model.pieces.size() + kMergesOfAny)
      raise(ErrorKind::format, "{}: {} pieces can be split into other pieces in more than {} ways each", where,
            model.pieces.size(), kMostMerges);
  }
  return out;
}

}  // namespace

bool PieceTokenizer::knows(std::string_view tokenizer_class) { return piece_kind_of(tokenizer_class) != nullptr; }

PieceTokenizer::PieceTokenizer(const PieceKind& kind, TokenizerConfig config, std::string bytes,
                               const std::string& folder, const std::string& file)
    : LanguagePipeline([&] {
        const SentencePieceTable model = read_sentence_piece(bytes, file);
        complete_special_tokens(config, kind, model, fmt::format("{}/tokenizer_config.json", folder));
        PieceParts parts = kind.parts(model, config, file);
        Parts out;
        out.table = make_token_table(std::move(parts.vocabulary), config, file);
        out.normalizer = std::move(parts.normalizer);
        out.pre_tokenizer = std::move(parts.pre_tokenizer);
        out.model = parts.is_bpe ? bpe_model(*out.table, merges_of_pieces(model, file), parts.bpe, file)
                                 : unigram_model(*out.table, std::move(parts.scores), parts.unigram, file);
        out.decoder = std::move(parts.decoder);
        out.clean_up = !parts.is_bpe && config.clean_up_tokenization_spaces.value_or(false);
        out.config = std::move(config);
        return out;
      }()),
      kind_(kind),
      bytes_(std::move(bytes)) {
  make_template(kind, fmt::format("{}/tokenizer_config.json", folder));
}

void PieceTokenizer::make_template(const PieceKind& kind, const std::string& where) {
  const auto required = [&where](int64_t id, const char* name) {
    if (id < 0) raise(ErrorKind::format, "{}: {} is required, but no file defines it", where, name);
    return Part{Part::Kind::special, id};
  };
  const Part first{Part::Kind::first}, second{Part::Kind::second};
  switch (kind.around) {
    case PieceTemplate::flags:
      set_bos_eos_template(config_.add_bos_token.value_or(false) && special_.bos >= 0,
                           config_.add_eos_token.value_or(false) && special_.eos >= 0);
      break;
    case PieceTemplate::end: {
      const Part eos = required(special_.eos, "eos_token");
      template_.single = {first, eos};
      template_.pair = {first, eos, second, eos};
      break;
    }
    case PieceTemplate::both: {
      const Part bos = required(special_.bos, "bos_token"), eos = required(special_.eos, "eos_token");
      template_.single = {bos, first, eos};
      template_.pair = {bos, first, eos, eos, second, eos};
      break;
    }
    case PieceTemplate::languages:
      required(special_.eos, "eos_token");
      set_language_templates(*language_kind_of(kind.tokenizer_class), config_, where);
      break;
  }
}

std::unique_ptr<PieceTokenizer> PieceTokenizer::load(const std::string& folder, const std::string& file,
                                                     const std::string& tokenizer_class, const Languages& languages) {
  const PieceKind* kind = piece_kind_of(tokenizer_class);
  if (kind == nullptr)
    raise(ErrorKind::format, "{}: tokenizer_class {} is not supported with a SentencePiece model", folder,
          tokenizer_class);
  TokenizerConfig config = read_tokenizer_config(folder, class_names(tokenizer_class));
  config.tokenizer_class = std::string(kind->tokenizer_class);
  choose(config, languages);
  return std::unique_ptr<PieceTokenizer>(new PieceTokenizer(*kind, std::move(config), read_text(file), folder, file));
}

void PieceTokenizer::save(const std::string& folder) const {
  write_in_folder(folder, kind_.file, bytes_);
  save_config(folder);
}

}  // namespace tape::text
