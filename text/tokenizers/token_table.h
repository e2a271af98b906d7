#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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

  /// `added`: entries that stand beside the model's own. Error (format) `where: ...` for an id that is taken, negative
  /// or leaves a gap, a token that stands twice, is empty or has more than kLongestToken bytes, and for no own entries.
  TokenTable(Entries entries, const Entries& added, const std::string& where);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  std::optional<int64_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// True for the model's own tokens.
  bool in_model(int64_t id) const { return in_model_[static_cast<size_t>(id)]; }
  /// Error (index).
  const std::string& token(int64_t id) const;
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<std::string> tokens_;
  std::vector<bool> in_model_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace tape::text
