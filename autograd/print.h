#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace tape {

class Tensor;

/// Options for printing tensors, as in NumPy.
struct PrintOptions {
  int precision = 4;         ///< digits after the decimal point
  int64_t threshold = 1000;  ///< tensors with more elements are summarized
  int64_t edge_items = 3;    ///< elements that a summary prints at each end of an axis
  int line_width = 100;
};
void set_printoptions(const PrintOptions& options);
PrintOptions printoptions();
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

}  // namespace tape
