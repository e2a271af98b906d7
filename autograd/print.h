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
  int line_width = 100;      ///< longer rows continue on the next line
};
/// Sets the options for the whole process. Throws Error (config) unless precision is 0 to 17, threshold at least 0, and
/// edge_items and line_width at least 1.
void set_printoptions(const PrintOptions& options);
/// The current options.
PrintOptions printoptions();
/// The values in brackets, with the shape if they are summarized or there are none, the dtype unless f32, and whether
/// the tensor requires gradients: `tensor([1, 2, 3], i64)`.
/// @{
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);
/// @}

}  // namespace tape
