#include "text/tokenizers/steps/word_models.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/steps/byte_level.h"
#include "text/tokenizers/steps/flat_map.h"

namespace tape::text {
namespace {

struct Merge {
  int32_t rank, id;
};

/// A token of the word being merged, with the indices of its neighbors, -1 at the ends.
struct Symbol {
  int32_t id;
  uint32_t begin, end;
  int32_t before, behind;
};

/// A candidate pair. The queue returns the lowest rank first, then the leftmost.
struct QueuedMerge {
  int32_t rank, at, id;
  int32_t left, right;  // ids when it was queued
  bool operator<(const QueuedMerge& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
};

class BpeModel : public WordModel {
 public:
  BpeModel(const TokenTable& vocabulary, const Merges& merges, const BpeModelOptions& options, const std::string& where)
      : vocabulary_(vocabulary), options_(options) {
    if (!options.unk_token.empty()) unk_ = static_cast<int32_t>(required_id(vocabulary, options.unk_token, where));
    for (size_t byte = 0; byte < 256; ++byte) {
      const std::string token = options.bytes ? byte_characters()[byte] : fmt::format("<0x{:02X}>", byte);
      bytes_[byte] = own_id(token);
    }
    std::string both;
    for (size_t i = 0; i < merges.size(); ++i) {
      const auto& [left, right] = merges[i];
      const int32_t a = merged(left, merges, i, where), b = merged(right, merges, i, where);
      both.assign(left).append(right,
                               right.starts_with(options.continuing_prefix) ? options.continuing_prefix.size() : 0);
      const Merge merge{static_cast<int32_t>(i), merged(both, merges, i, where)};
      Merge& place = merges_[pair_of(a, b)];
      if (place.rank != 0)
        raise(ErrorKind::format, "{}: merge {} \"{} {}\" is a duplicate", where, i, clipped(left, 40),
              clipped(right, 40));
      place = {merge.rank + 1, merge.id};
    }
  }

  void explain(std::string_view word, std::vector<std::string>& lines) const override {
    std::vector<Symbol> symbols = begin(word);
    lines.push_back(fmt::format("  {}", row(symbols)));
    if (options_.ignore_merges && whole(word) >= 0) {
      lines.push_back(fmt::format("    the whole word is token {}", whole(word)));
      return;
    }
    merge_all(symbols, &lines);
  }

 private:
  int32_t merged(const std::string& token, const Merges& merges, size_t i, const std::string& where) const {
    const auto id = vocabulary_.find(token);
    if (!id)
      raise(ErrorKind::format, "{}: merge {} \"{} {}\": \"{}\" is not in the vocabulary", where, i,
            clipped(merges[i].first, 40), clipped(merges[i].second, 40), clipped(token, 80));
    return static_cast<int32_t>(*id);
  }
  static uint64_t pair_of(int32_t left, int32_t right) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
  }

  /// The id of a whole word, -1 if it is not a token.
  int32_t whole(std::string_view word) const {
    return options_.bytes ? own_id(to_byte_characters(word)) : own_id(word);
  }

  /// Splits the word into its initial symbols.
  std::vector<Symbol> begin(std::string_view word) const {
    std::vector<Symbol> out;
    out.reserve(word.size());
    const auto add = [&out](int32_t id, uint32_t from, uint32_t to) {
      const auto at = static_cast<int32_t>(out.size());
      if (at > 0) out.back().behind = at;
      out.push_back({id, from, to, at - 1, -1});
    };
    uint32_t unknown = 0, unknown_end = 0;  // pending unknown characters
    const auto add_unknown = [&] {
      if (unknown < unknown_end) add(unk_, unknown, unknown_end);
      unknown = unknown_end;
    };
    std::string part;
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t length = options_.bytes ? 1 : decode_utf8(word.substr(at)).length, end = at + length;
      if (!options_.bytes) write_part(word, at, end, part);
      const int32_t known = options_.bytes ? byte_id(word[at]) : own_id(part);
      if (known >= 0) {
        add_unknown();
        add(known, at, end);
      } else if (!options_.bytes && options_.byte_fallback && all_bytes(part)) {
        // As in tokenizers, the token for pending unknown characters comes after these bytes.
        const auto before = static_cast<uint32_t>(part.find(word.substr(at, length)));
        for (uint32_t i = 0; i < part.size(); ++i) {
          const uint32_t from = at + std::min(length, std::max(i, before) - before);
          add(byte_id(part[i]), from, i < before ? from : std::min(from + 1, end));
        }
      } else if (unk_ >= 0) {
        if (!options_.fuse_unk || unknown == unknown_end) {
          add_unknown();
          unknown = at;
        }
        unknown_end = end;
      }
      at = end;
    }
    add_unknown();
    return out;
  }
  /// A character with the prefix or suffix for its position in the word.
  void write_part(std::string_view word, uint32_t begin, uint32_t end, std::string& to) const {
    to.assign(begin > 0 ? options_.continuing_prefix : "").append(word, begin, end - begin);
    if (end == word.size()) to += options_.end_of_word_suffix;
  }
  /// The id of one of the model's own tokens, -1 if there is none.
  int32_t own_id(std::string_view token) const {
    const auto id = vocabulary_.find(token);
    return id && vocabulary_.in_model(*id) ? static_cast<int32_t>(*id) : -1;
  }
  int32_t byte_id(char byte) const { return bytes_[static_cast<unsigned char>(byte)]; }
  bool all_bytes(std::string_view part) const {
    return std::all_of(part.begin(), part.end(), [this](char c) { return byte_id(c) >= 0; });
  }

  void split_word(std::string_view word, std::vector<Piece>& to) const override {
    if (options_.ignore_merges) {
      const int32_t id = whole(word);
      if (id >= 0) return to.push_back({id, 0, static_cast<uint32_t>(word.size())});
    }
    std::vector<Symbol> symbols = begin(word);
    merge_all(symbols, nullptr);
    for (int32_t at = symbols.empty() ? -1 : 0; at >= 0; at = symbols[static_cast<size_t>(at)].behind) {
      const Symbol& symbol = symbols[static_cast<size_t>(at)];
      to.push_back({symbol.id, symbol.begin, symbol.end});
    }
  }

  /// A merge changes only the adjacent pairs, so with a queue n bytes take O(n log n) steps.
  void merge_all(std::vector<Symbol>& symbols, std::vector<std::string>* lines) const {
    std::vector<QueuedMerge> queued;
    queued.reserve(symbols.size());
    for (size_t at = 0; at + 1 < symbols.size(); ++at) offer(symbols, static_cast<int32_t>(at), queued);
    std::make_heap(queued.begin(), queued.end());
    while (!queued.empty()) {
      std::pop_heap(queued.begin(), queued.end());
      const QueuedMerge best = queued.back();
      queued.pop_back();
      Symbol& left = symbols[static_cast<size_t>(best.at)];
      if (left.id != best.left || left.behind < 0) continue;  // already merged
      Symbol& right = symbols[static_cast<size_t>(left.behind)];
      if (right.id != best.right) continue;
      if (lines != nullptr)
        lines->push_back(fmt::format("    merge {}: {} + {}", best.rank, shown(left.id), shown(right.id)));
      left.id = best.id;
      left.end = right.end;
      left.behind = right.behind;
      right.id = -1;
      if (left.behind >= 0) symbols[static_cast<size_t>(left.behind)].before = best.at;
      const size_t before = queued.size();
      offer(symbols, best.at, queued);
      if (queued.size() > before) std::push_heap(queued.begin(), queued.end());
      if (left.before >= 0) {
        const size_t then = queued.size();
        offer(symbols, left.before, queued);
        if (queued.size() > then) std::push_heap(queued.begin(), queued.end());
      }
      if (lines != nullptr) lines->push_back(fmt::format("  {}", row(symbols)));
    }
  }

  /// Queues the pair that begins at a symbol, if there is a merge for it.
  void offer(const std::vector<Symbol>& symbols, int32_t at, std::vector<QueuedMerge>& queued) const {
    const Symbol& left = symbols[static_cast<size_t>(at)];
    if (left.behind < 0) return;
    const Symbol& right = symbols[static_cast<size_t>(left.behind)];
    const Merge* merge = merges_.find(pair_of(left.id, right.id));
    if (merge != nullptr) queued.push_back({merge->rank - 1, at, merge->id, left.id, right.id});
  }

  std::string shown(int32_t id) const { return clipped(vocabulary_.token(id), 100); }
  std::string row(const std::vector<Symbol>& symbols) const {
    std::string out;
    for (int32_t at = symbols.empty() ? -1 : 0; at >= 0; at = symbols[static_cast<size_t>(at)].behind) {
      if (!out.empty()) out += " ";
      out += shown(symbols[static_cast<size_t>(at)].id);
    }
    return out;
  }

  const TokenTable& vocabulary_;
  BpeModelOptions options_;
  int32_t unk_ = -1;
  std::array<int32_t, 256> bytes_;
  FlatMap<Merge> merges_;  // ranks start at 1, as 0 marks a new entry
};

}  // namespace

WordModelPtr bpe_model(const TokenTable& vocabulary, const Merges& merges, const BpeModelOptions& options,
                       const std::string& where) {
  return std::make_unique<BpeModel>(vocabulary, merges, options, where);
}

}  // namespace tape::text
