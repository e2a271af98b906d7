#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tape {

/// A size for all spatial axes of a convolution or pooling, or one per axis: 3 or {3, 5}.
class SpatialSizes {
 public:
  SpatialSizes() = default;
  /// One size for all axes, or one per axis. Checked by the operation that they are passed to.
  /// @{
  SpatialSizes(int64_t size) : sizes_{size} {}
  SpatialSizes(int size) : sizes_{size} {}
  SpatialSizes(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  SpatialSizes(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
  /// @}

  /// Whether there is a size; false if default-constructed.
  bool given() const { return !sizes_.empty(); }
  /// Returns one size for each of `axes`. Error (config) `conv2d: stride has 3 sizes for 2 axes`, or `conv2d: stride
  /// must be in [1, 2147483647], got 0`.
  std::vector<int64_t> of(const char* operation, const char* name, int64_t axes, int64_t least) const;

 private:
  std::vector<int64_t> sizes_;
};

}  // namespace tape
