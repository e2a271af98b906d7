#include "text/tokenizers/steps/word_models.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/steps/trie.h"

namespace tape::text {
namespace {

/// Difference in log probability between the rarest token and an unknown character.
constexpr double kUnknownPenalty = 10;

/// The best split of a prefix of the word: its score and the start of its last piece.
struct Best {
  double score = -std::numeric_limits<double>::infinity();
  uint32_t begin = 0;
  int32_t id = -1;  // -1: unknown
  bool reached = false;
};

class UnigramModel : public WordModel {
 public:
  UnigramModel(const TokenTable& vocabulary, std::vector<double> scores, const UnigramModelOptions& options,
               const std::string& where)
      : scores_(std::move(scores)), byte_fallback_(options.byte_fallback) {
    if (options.unk_id >= static_cast<int64_t>(scores_.size()) || options.unk_id < -1)
      raise(ErrorKind::format, "{}: unk_id {} is not in 0..{}", where, options.unk_id, scores_.size() - 1);
    unk_ = static_cast<int32_t>(options.unk_id);
    double lowest = scores_.empty() ? 0 : *std::min_element(scores_.begin(), scores_.end());
    unknown_score_ = lowest - kUnknownPenalty;
    for (size_t id = 0; id < scores_.size(); ++id) trie_.add(vocabulary.tokens()[id], static_cast<int32_t>(id));
    for (size_t byte = 0; byte < 256; ++byte) {
      const auto id = vocabulary.find(fmt::format("<0x{:02X}>", byte));
      bytes_[byte] = id && vocabulary.in_model(*id) ? static_cast<int32_t>(*id) : -1;
    }
  }

  void explain(std::string_view word, std::vector<std::string>& lines) const override {
    double total = 0;
    std::string line;
    for (const Piece& piece : best_split(word)) {
      const double score = piece.id < 0 ? unknown_score_ : scores_[static_cast<size_t>(piece.id)];
      line += fmt::format(" {} ({:.4f})", clipped(word.substr(piece.begin, piece.end - piece.begin), 100), score);
      total += score;
    }
    lines.push_back(fmt::format("  {} ->{}, log probability {:.4f}", clipped(word, 200), line, total));
  }

 private:
  void split_word(std::string_view word, std::vector<Piece>& to) const override {
    const std::vector<Piece> pieces = best_split(word);
    for (size_t i = 0; i < pieces.size(); ++i) {
      Piece piece = pieces[i];
      if (piece.id >= 0) {
        to.push_back(piece);
        continue;
      }
      while (i + 1 < pieces.size() && pieces[i + 1].id < 0) piece.end = pieces[++i].end;
      add_unknown(word, piece, to);
    }
  }

  /// A run of unknown characters, or the unknown token written out: either may still be a token.
  void add_unknown(std::string_view word, const Piece& piece, std::vector<Piece>& to) const {
    uint32_t node = Trie::kRoot;
    if (trie_.walk(node, word.substr(piece.begin, piece.end - piece.begin)) && trie_.value(node) != Trie::kNone)
      return to.push_back({trie_.value(node), piece.begin, piece.end});
    const auto byte = [&](uint32_t at) { return bytes_[static_cast<unsigned char>(word[at])]; };
    bool bytes = byte_fallback_;
    for (uint32_t at = piece.begin; bytes && at < piece.end; ++at) bytes = byte(at) >= 0;
    if (bytes) {
      for (uint32_t at = piece.begin; at < piece.end; ++at) to.push_back({byte(at), piece.begin, piece.end});
    } else if (unk_ >= 0) {
      to.push_back({unk_, piece.begin, piece.end});
    }
  }

  /// Viterbi over the characters; ties go to the first split. Unknown characters have id -1.
  std::vector<Piece> best_split(std::string_view word) const {
    const auto size = static_cast<uint32_t>(word.size());
    std::vector<Best> ends(word.size() + 1);
    ends[0] = {0, 0, -1, true};
    for (uint32_t at = 0; at < size;) {
      const uint32_t length = decode_utf8(word.substr(at)).length;
      const double before = ends[at].score;
      const auto offer = [&](uint32_t end, double score, int32_t id) {
        if (!ends[end].reached || before + score > ends[end].score) ends[end] = {before + score, at, id, true};
      };
      bool single = false;
      uint32_t node = Trie::kRoot;
      for (uint32_t end = at; end < size && trie_.step(node, word[end]);) {
        ++end;
        const int32_t id = trie_.value(node);
        if (id == Trie::kNone) continue;
        offer(end, scores_[static_cast<size_t>(id)], id);
        single = single || end == at + length;
      }
      if (!single) offer(at + length, unknown_score_, -1);
      at += length;
    }
    std::vector<Piece> out;
    for (uint32_t end = size; end > 0; end = ends[end].begin)
      out.push_back({ends[end].id == unk_ ? -1 : ends[end].id, ends[end].begin, end});
    std::reverse(out.begin(), out.end());
    return out;
  }

  std::vector<double> scores_;
  bool byte_fallback_;
  int32_t unk_;
  double unknown_score_;
  Trie trie_;
  std::array<int32_t, 256> bytes_;
};

}  // namespace

WordModelPtr unigram_model(const TokenTable& vocabulary, std::vector<double> scores, const UnigramModelOptions& options,
                           const std::string& where) {
  return std::make_unique<UnigramModel>(vocabulary, std::move(scores), options, where);
}

}  // namespace tape::text
