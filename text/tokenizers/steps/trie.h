#pragma once

#include <string_view>
#include <vector>

#include "flat_map.h"

namespace tape::text {

/// A trie of byte strings with a number each.
class Trie {
 public:
  static constexpr int32_t kNone = -1;
  static constexpr uint32_t kRoot = 0;

  /// Adds a string. An existing string keeps its number.
  void add(std::string_view key, int32_t value) {
    uint32_t node = kRoot;
    for (const char c : key) {
      uint32_t& next = children_[edge(node, c)];
      if (next == 0) {
        next = static_cast<uint32_t>(values_.size());
        values_.push_back(kNone);
      }
      node = next;
    }
    if (values_[node] == kNone) values_[node] = value;
  }
  /// Follows one byte. Returns false if no string continues with it.
  bool step(uint32_t& node, char c) const {
    const uint32_t* next = children_.find(edge(node, c));
    if (next == nullptr) return false;
    node = *next;
    return true;
  }
  /// Number of the string that ends at a node, kNone for an inner node.
  int32_t value(uint32_t node) const { return values_[node]; }
  /// Follows all bytes of a key.
  bool walk(uint32_t& node, std::string_view key) const {
    for (const char c : key)
      if (!step(node, c)) return false;
    return true;
  }

 private:
  static uint64_t edge(uint32_t node, char c) { return (uint64_t{node} << 8) | static_cast<unsigned char>(c); }

  FlatMap<uint32_t> children_;
  std::vector<int32_t> values_{kNone};
};

}  // namespace tape::text
