#pragma once

#include <unordered_map>
#include <vector>

#include "parts.h"

namespace tape::inspect {

/// Size of the values that a page stores, counting repeated values once. Values are hashed only once, for any number of
/// limits.
class ValueSizes {
 public:
  /// The recording must outlive this.
  explicit ValueSizes(const Recording& recording);

  /// A tensor by the hash of its values.
  struct Tensors {
    std::vector<std::pair<size_t, int64_t>> tensors;  ///< hashes and numbers of elements
    void add(const tape::Tensors& more);
  };

  /// Number of bytes that the values of tape_json() take in a page. Includes `beside`, tensors that other parts of the
  /// page store, which the tape stores in full as well.
  int64_t bytes(const ElementLimits& limits, const Tensors& beside) const;
  /// Approximate number of bytes that the values' JSON takes besides: shapes, and ranges of truncated values.
  int64_t bytes_besides() const { return besides_; }

 private:
  struct Distinct {
    size_t hash;
    Shape shape;
    Keep keep;
    bool rows_first, is_whole;
    bool operator==(const Distinct&) const = default;
  };
  void add(const Excerpt& excerpt);

  int64_t besides_ = 0;
  std::vector<Distinct> distinct_;
  std::unordered_multimap<size_t, size_t> places_;  // of each hash
};

}  // namespace tape::inspect
