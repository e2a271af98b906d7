#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tape::text {

/// The closed list of tokens of one language: token <-> id.
///
/// Ids 0 to 3 are the special tokens <pad>, <bos>, <eos> and <unk>; the tokens given follow in their order.
class Vocabulary {
 public:
  static constexpr int64_t pad = 0;
  static constexpr int64_t bos = 1;
  static constexpr int64_t eos = 2;
  static constexpr int64_t unk = 3;

  /// The special tokens alone.
  Vocabulary() : Vocabulary(std::span<const std::string>()) {}

  /// The special tokens and then `tokens`.
  ///
  /// Errors: ErrorKind::config for a token that is there already, is empty, holds a line break or is not UTF-8.
  explicit Vocabulary(std::span<const std::string> tokens);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  bool contains(std::string_view token) const { return ids_.contains(token); }

  /// The id of a token, unk when it is not in the list.
  int64_t id(std::string_view token) const;

  /// The token of an id. Errors: ErrorKind::index when the id is not in 0..size()-1.
  const std::string& token(int64_t id) const;

  /// One id a token; adds neither <bos> nor <eos>.
  std::vector<int64_t> encode(std::span<const std::string> tokens) const;

  /// The tokens of a model's output: stops at the first <eos>, leaves out <pad> and <bos>, shows <unk> as it is.
  ///
  /// Errors: ErrorKind::index for an id that is not in 0..size()-1.
  std::vector<std::string> decode(std::span<const int64_t> ids) const;

  /// Writes one token a line, the special tokens first: the id is the line's number, counted from 0.
  ///
  /// Errors: ErrorKind::io with the system's reason.
  void save(const std::filesystem::path& file) const;

  /// Reads what save() wrote.
  ///
  /// Errors: ErrorKind::io when the file cannot be read; ErrorKind::format with file and line (counted from 1) when
  /// the special tokens are not the first four lines or a line is empty, doubled, not UTF-8 or ends with a carriage
  /// return.
  static Vocabulary load(const std::filesystem::path& file);

 private:
  // Looks tokens up by std::string_view without making a std::string.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  // Appends a token; gives back what is wrong with it, "" when nothing is.
  std::string add(std::string_view token);

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace tape::text
