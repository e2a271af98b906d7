#pragma once

#include <algorithm>
#include <vector>

#include "autograd/shape.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// Derives numbers from bytes: mostly small, occasionally extreme.
class Numbers {
 public:
  explicit Numbers(Bytes bytes) : bytes_(bytes) {}
  bool more() const { return !bytes_.empty(); }
  /// The next byte, 0 at the end of the input.
  int64_t byte() {
    if (bytes_.empty()) return 0;
    const auto value = std::to_integer<int64_t>(bytes_[0]);
    bytes_ = bytes_.subspan(1);
    return value;
  }
  bool flag() { return byte() % 2 == 1; }
  int64_t next() {
    const int64_t value = byte();
    if (value == 200) return INT64_MAX;
    if (value == 201) return INT64_MIN;
    if (value == 202) return Shape::kMaxElements;
    return value % 16 - 6;
  }
  std::vector<int64_t> list() {
    std::vector<int64_t> values(std::min<uint64_t>(static_cast<uint64_t>(next()) + 6, 9));
    for (int64_t& value : values) value = next();
    return values;
  }

 private:
  Bytes bytes_;
};

}  // namespace tape::fuzz
