#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gguf.h"

namespace tape::models {

/// Reads the metadata of a GGUF file strictly. Errors are Error (format) naming the file, the key and what is needed.
class GgufEntries {
 public:
  GgufEntries(const std::map<std::string, GgufValue>& entries, std::string where);

  bool has(const std::string& key) const { return entries_.contains(key); }
  /// From 0 to 2^31 - 1, of any type of whole numbers. Without `otherwise` the key must be there; so below.
  int64_t whole(const std::string& key, std::optional<int64_t> otherwise = {}) const;
  /// A number of 32 bits as its shortest decimal text has it: 1e-05, not 9.99999974e-06.
  double number(const std::string& key, std::optional<double> otherwise = {}) const;
  bool flag(const std::string& key, std::optional<bool> otherwise = {}) const;
  std::string text(const std::string& key, std::optional<std::string> otherwise = {}) const;
  /// T: std::string, float, int32_t or uint32_t.
  template <class T>
  const std::vector<T>& list(const std::string& key) const;

  /// The number of a key, true being 1 and false 0, which this does not count as asked for; none for other values.
  std::optional<double> peek(const std::string& key) const;
  /// Says that the key, if it is there, changes nothing.
  void pass(const std::string& key) const { asked_.insert(key); }
  /// Error (config) for keys that begin so and were not asked for: they may change what is computed.
  void refuse_others(const std::string& prefix) const;
  const std::string& where() const { return where_; }

 private:
  /// Null where the key is missing and may be.
  const GgufValue* find(const std::string& key, bool optional) const;
  template <class T>
  T typed(const std::string& key, const std::optional<T>& otherwise, const char* needed) const;
  [[noreturn]] void wrong(const std::string& key, const char* needed) const;

  const std::map<std::string, GgufValue>& entries_;
  std::string where_;
  mutable std::set<std::string> asked_;
};

}  // namespace tape::models
