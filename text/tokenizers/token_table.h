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

/// Tokens with ids 0 to size() - 1.
class TokenTable {
 public:
  using Entries = std::vector<std::pair<std::string, int64_t>>;
  static constexpr size_t kLongestToken = 100'000;  ///< in bytes
  /// A vocabulary from a list: ids are positions.
  static Entries numbered(std::vector<std::string> tokens);

  /// The id of one of the model's own tokens, nullopt if there is none.
  using Own = std::function<std::optional<int64_t>(std::string_view token)>;
  /// Additional tokens after the model's own.
  using ExtraTokens = std::function<Entries(const Own& own)>;

  /// Throws Error (format) `where: ...` for a duplicate or negative id or a gap, for a token that is duplicate, empty
  /// or longer than kLongestToken bytes, and if `entries` is empty.
  TokenTable(Entries entries, const ExtraTokens& beside, const std::string& where);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  std::optional<int64_t> find(std::string_view token) const {
    const Slot& slot = slots_[place(
        token, hash_of(token), [this](int64_t id) -> const std::string& { return tokens_[static_cast<size_t>(id)]; })];
    return slot.number < 0 ? std::nullopt : std::optional(slot.number);
  }
  /// Whether a token is one of the model's own.
  bool in_model(int64_t id) const { return in_model_[static_cast<size_t>(id)]; }
  /// Throws Error (index) for an invalid id.
  const std::string& token(int64_t id) const;
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  /// Slot of the open-addressing hash table.
  struct Slot {
    uint64_t hash = 0;
    int64_t number = -1;  // id of the token, -1 for a free slot
  };

  static uint64_t hash_of(std::string_view token) { return std::hash<std::string_view>()(token); }
  /// The slot of a token, or the free slot for it. `text_of` returns the token with a number.
  template <class TextOf>
  size_t place(std::string_view token, uint64_t hash, TextOf&& text_of) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].number >= 0 && (slots_[at].hash != hash || text_of(slots_[at].number) != token))
      at = (at + 1) & mask;
    return at;
  }
  void insert(const Entries& entries, size_t begin, const std::string& where);
  void sort_by_id(Entries entries, size_t own, const std::string& where);

  std::vector<std::string> tokens_;
  std::vector<bool> in_model_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace tape::text
