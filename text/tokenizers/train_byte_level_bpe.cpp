#include "text/tokenizers/train_byte_level_bpe.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "text/tokenizers/steps/byte_level.h"

namespace tape::text {
namespace {

struct IdPair {
  int32_t left, right;
  uint64_t key() const {
    return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
  }
};

/// Number of occurrences of a pair and their positions (some may be stale).
struct Uses {
  int64_t count = 0;
  std::vector<uint32_t> places;
};

/// A token inside a word, with the positions of its neighbors, -1 at the ends of the word.
struct Place {
  int32_t token;  // -1: merged into the previous one
  int32_t before, behind;
  uint32_t word;
};

/// The distinct words of a corpus, concatenated, with their counts.
struct Corpus {
  std::vector<Place> places;
  std::vector<int64_t> counts;  // count of each word
};

struct CountedPair {
  int64_t count;
  IdPair pair;
  bool operator<(const CountedPair& other) const {
    return count != other.count ? count < other.count : pair.key() > other.pair.key();
  }
};

Corpus count_words(const NextPiece& next, bool add_prefix_space, const std::vector<int32_t>& byte_ids) {
  std::unordered_map<std::string, int64_t> counts;
  const PreTokenizer split = byte_level_pre_tokenizer({.add_prefix_space = add_prefix_space});
  int64_t lines = 0;
  while (const auto line = next()) {
    ++lines;
    Normalized text{std::string(*line)};
    std::vector<Range> words;
    if (!line->empty()) words.push_back({0, static_cast<uint32_t>(line->size())});
    split(text, words, true);
    for (const Range& word : words) ++counts[text.text.substr(word.begin, word.end - word.begin)];
  }
  if (counts.empty()) raise(ErrorKind::config, "train_byte_level_bpe: the corpus is empty ({} lines)", lines);
  Corpus out;
  size_t bytes = 0;
  for (const auto& [word, count] : counts) bytes += word.size();
  if (bytes > std::numeric_limits<int32_t>::max())
    raise(ErrorKind::config, "train_byte_level_bpe: the distinct words have {} bytes, but at most {} are supported",
          bytes, std::numeric_limits<int32_t>::max());
  out.places.reserve(bytes);
  for (const auto& [word, count] : counts) {
    const auto number = static_cast<uint32_t>(out.counts.size());
    const auto begin = static_cast<int32_t>(out.places.size()), end = begin + static_cast<int32_t>(word.size());
    for (int32_t at = begin; at < end; ++at) {
      const auto byte = static_cast<unsigned char>(word[static_cast<size_t>(at - begin)]);
      out.places.push_back({byte_ids[byte], at > begin ? at - 1 : -1, at + 1 < end ? at + 1 : -1, number});
    }
    out.counts.push_back(count);
  }
  return out;
}

/// Finds and merges the most frequent pair. Each merge visits only the positions of its pair and their neighbors, so n
/// bytes take O(n log n) steps, whatever the length of the words.
class Trainer {
 public:
  explicit Trainer(Corpus corpus) : places_(std::move(corpus.places)), counts_(std::move(corpus.counts)) {
    for (uint32_t at = 0; at < places_.size(); ++at)
      if (places_[at].behind >= 0)
        change({places_[at].token, behind(places_[at]).token}, counts_[places_[at].word], at);
    for (const auto& [key, uses] : pairs_) queue_.push({uses.count, pair_of(key)});
  }

  /// Pops the most frequent pair. Returns false if every pair occurs fewer than `min_count` times.
  bool best(int64_t min_count, IdPair& pair) {
    while (!queue_.empty()) {
      const CountedPair top = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(top.pair.key());
      const int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count == top.count && count >= min_count) {
        pair = top.pair;
        return true;
      }
      if (count > 0 && count < top.count) queue_.push({count, top.pair});  // the count dropped since it was queued
    }
    return false;
  }

  void merge(IdPair pair, int32_t id) {
    std::vector<uint32_t> where = std::move(pairs_[pair.key()].places);
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    grown_.clear();
    for (const uint32_t at : where) merge_at(at, pair, id);
    pairs_.erase(pair.key());
    for (const uint64_t key : grown_)
      if (const auto found = pairs_.find(key); found != pairs_.end()) queue_.push({found->second.count, pair_of(key)});
  }

 private:
  static IdPair pair_of(uint64_t key) {
    return {static_cast<int32_t>(key >> 32), static_cast<int32_t>(key & 0xFFFFFFFFu)};
  }
  Place& before(const Place& place) { return places_[static_cast<size_t>(place.before)]; }
  Place& behind(const Place& place) { return places_[static_cast<size_t>(place.behind)]; }

  /// Counts the pair whose left token is at a position.
  void change(IdPair pair, int64_t by, uint32_t at) {
    Uses& uses = pairs_[pair.key()];
    uses.count += by;
    if (by > 0) uses.places.push_back(at);
  }

  void merge_at(uint32_t at, IdPair pair, int32_t id) {
    Place& left = places_[at];
    if (left.token != pair.left || left.behind < 0 || behind(left).token != pair.right) return;
    Place& right = behind(left);
    const int64_t count = counts_[left.word];
    if (left.before >= 0) {
      const auto from = static_cast<uint32_t>(left.before);
      change({before(left).token, pair.left}, -count, from);
      gain({before(left).token, id}, count, from);
    }
    if (right.behind >= 0) {
      change({pair.right, behind(right).token}, -count, at);
      gain({id, behind(right).token}, count, at);
      behind(right).before = static_cast<int32_t>(at);
    }
    left.token = id;
    left.behind = right.behind;
    right.token = -1;
  }

  void gain(IdPair pair, int64_t count, uint32_t at) {
    change(pair, count, at);
    grown_.insert(pair.key());
  }

  std::vector<Place> places_;
  std::vector<int64_t> counts_;
  std::unordered_map<uint64_t, Uses> pairs_;
  std::priority_queue<CountedPair> queue_;
  std::unordered_set<uint64_t> grown_;
};

void check(const TrainBpeOptions& options) {
  const auto special = static_cast<int64_t>(options.special_tokens.size());
  if (options.vocab_size < 256 + special)
    raise(ErrorKind::config, "train_byte_level_bpe: vocab_size {} is less than 256 bytes and {} special tokens",
          options.vocab_size, special);
  if (options.vocab_size > 1 << 24)
    raise(ErrorKind::config, "train_byte_level_bpe: vocab_size {} is more than {}", options.vocab_size, 1 << 24);
  if (options.min_frequency < 0)
    raise(ErrorKind::config, "train_byte_level_bpe: min_frequency must not be negative, got {}", options.min_frequency);
}

}  // namespace

std::unique_ptr<ByteLevelBpe> train_byte_level_bpe(std::span<const std::string> lines, const TrainBpeOptions& options) {
  return train_byte_level_bpe(pieces_of(lines.size(), [lines](size_t i) -> std::string_view { return lines[i]; }),
                              options);
}

std::unique_ptr<ByteLevelBpe> train_byte_level_bpe(const NextPiece& next, const TrainBpeOptions& options) {
  check(options);
  std::vector<std::string> vocabulary;
  std::unordered_map<std::string, int32_t> ids;
  const auto add = [&](const std::string& token) {
    const auto [found, fresh] = ids.try_emplace(token, static_cast<int32_t>(vocabulary.size()));
    if (fresh) vocabulary.push_back(token);
    return std::pair(found->second, fresh);
  };
  for (const std::string& token : options.special_tokens)
    if (token.empty() || !add(token).second)
      raise(ErrorKind::config, "train_byte_level_bpe: special token \"{}\" {}", token,
            token.empty() ? "is empty" : "is a duplicate");
  // The alphabet in code point order.
  std::vector<std::pair<std::string, size_t>> alphabet;
  for (size_t byte = 0; byte < 256; ++byte) alphabet.emplace_back(byte_characters()[byte], byte);
  std::sort(alphabet.begin(), alphabet.end());
  std::vector<int32_t> byte_ids(256);
  for (const auto& [character, byte] : alphabet) byte_ids[byte] = add(character).first;

  Trainer trainer(count_words(next, options.add_prefix_space, byte_ids));
  Merges merges;
  IdPair pair{};
  while (static_cast<int64_t>(vocabulary.size()) < options.vocab_size &&
         trainer.best(std::max<int64_t>(options.min_frequency, 1), pair)) {
    const std::string &left = vocabulary[static_cast<size_t>(pair.left)],
                      &right = vocabulary[static_cast<size_t>(pair.right)];
    if (left.size() + right.size() > TokenTable::kLongestToken) continue;  // too long for a vocabulary file
    merges.emplace_back(left, right);
    trainer.merge(pair, add(fmt::format("{}{}", left, right)).first);
  }
  const std::string end = options.special_tokens.empty() ? "" : options.special_tokens.front();
  return std::make_unique<ByteLevelBpe>(vocabulary, std::move(merges),
                                        ByteLevelBpeOptions{.add_prefix_space = options.add_prefix_space,
                                                            .bos = end,
                                                            .eos = end,
                                                            .unk = end,
                                                            .more = options.special_tokens});
}

}  // namespace tape::text
