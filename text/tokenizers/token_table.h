#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../base/error.h"

namespace tape::text {

/// Tokens and their ids, 0 to size() - 1.
class TokenTable {
 public:
  using Entries = std::vector<std::pair<std::string, int64_t>>;
  static constexpr size_t kLongestToken = 100'000;  ///< bytes
  /// A vocabulary as a list: each token with its place as its id.
  static Entries numbered(std::vector<std::string> tokens);

  /// The id of one of the model's own tokens.
  using Own = std::function<std::optional<int64_t>(std::string_view token)>;
  /// Entries that stand beside the model's own; none without.
  using Beside = std::function<Entries(const Own& own)>;

  /// Error (format) `where: ...` for an id that is taken, negative or leaves a gap, a token that stands twice, is empty
  /// or has more than kLongestToken bytes, and for no own entries.
  TokenTable(Entries entries, const Beside& beside, const std::string& where);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  std::optional<int64_t> find(std::string_view token) const {
    const Slot& slot = slots_[place(
        token, hash_of(token), [this](int64_t id) -> const std::string& { return tokens_[static_cast<size_t>(id)]; })];
    return slot.number < 0 ? std::nullopt : std::optional(slot.number);
  }
  /// True for the model's own tokens.
  bool in_model(int64_t id) const { return in_model_[static_cast<size_t>(id)]; }
  /// Error (index).
  const std::string& token(int64_t id) const;
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  /// Of a hash table whose slots stand in one array.
  struct Slot {
    uint64_t hash = 0;
    int64_t number = -1;  // of the token: its id, -1 where the slot is free
  };

  static uint64_t hash_of(std::string_view token) { return std::hash<std::string_view>()(token); }
  /// The slot that a token has, or is to have. `text_of` gives the token of a number.
  template <class TextOf>
  size_t place(std::string_view token, uint64_t hash, TextOf&& text_of) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].number >= 0 && (slots_[at].hash != hash || text_of(slots_[at].number) != token))
      at = (at + 1) & mask;
    return at;
  }
  void enter(const Entries& entries, size_t begin, const std::string& where);
  void settle(Entries entries, size_t own, const std::string& where);

  std::vector<std::string> tokens_;
  std::vector<bool> in_model_;
  std::vector<Slot> slots_;  // a power of two of them, at most half of which are taken
};

}  // namespace tape::text
