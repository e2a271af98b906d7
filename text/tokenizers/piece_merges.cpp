#include "text/tokenizers/piece_merges.h"

#include <algorithm>

#include "base/error.h"
#include "text/tokenizers/trie.h"

namespace tape::text {
namespace {

/// Llama 2 has two merges a piece.
constexpr size_t kMostMerges = 32, kMergesOfAny = 1000;

/// Whether a piece ends behind each byte of a text.
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

}  // namespace

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
      raise(ErrorKind::format, "{}: {} pieces are made of each other in more than {} ways each", where,
            model.pieces.size(), kMostMerges);
  }
  return out;
}

}  // namespace tape::text
