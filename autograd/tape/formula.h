#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "../tensor.h"

namespace tape {

class Node;

/// Which axes of a gradient of the output's shape are summed if the input has another shape: none, all repeated axes,
/// or those before the last two.
enum class Summed { nothing, repeated_axes, batch };

/// Formulas of the gradients, one per input, at most eight. Allocates nothing: operations are created before main(),
/// where an exception would terminate the program.
class GradientTexts {
 public:
  static constexpr size_t kMost = 8;  ///< maximum number of texts

  GradientTexts() = default;
  /// Throws Error (config) for more than kMost texts.
  GradientTexts(std::initializer_list<std::string_view> texts);

  /// Read access as to a std::span; operator[] is not checked.
  /// @{
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view operator[](size_t i) const { return texts_[i]; }
  const std::string_view* begin() const { return texts_.data(); }
  const std::string_view* end() const { return texts_.data() + size_; }
  /// @}

 private:
  std::array<std::string_view, kMost> texts_{};
  size_t size_ = 0;
};

/// The formula template of an operation, defined next to its implementation.
///
/// Placeholders: {0}, {1}, ... are the shapes of inputs (empty for an undefined one), {y} is the shape of the output,
/// {x} the shape and {i} the index of the input whose gradient is described, and {eps} is the attribute eps of the
/// call. <2:text> appears only if input 2 is defined; <reverse:text|otherwise> chooses by whether the attribute reverse
/// is set to anything but false or 0.0. Conditions nest.
struct OpFormula {
  std::string_view forward = {};    ///< "y{y} = a{0} + b{1}"
  GradientTexts backward = {};      ///< one per input, "da = dy"; the last one applies to all further inputs
  Summed summed = Summed::nothing;  ///< for inputs that were broadcast
};

/// The formula of one recorded call, with its shapes and attributes filled in.
struct Formula {
  std::string forward;                ///< "y [2, 3] = a [2, 4] · b [4, 3]"
  std::vector<std::string> backward;  ///< one per input: "da [2, 4] = dy [2, 3] · bᵀ"; "" for an undefined one
};

/// The formula of a recorded operation with these `inputs`, which may be undefined. dy is the incoming gradient, dx the
/// one passed on. An operation without a formula (such as one made by custom()) or with an empty list of inputs gets a
/// generic one that only names its inputs.
Formula formula_of(const Node& node, const Tensors& inputs);
/// The same for the operation that computed y. Throws Error (graph) if y is not the result of a recorded operation.
Formula formula_of(const Tensor& y, const Tensors& inputs);

}  // namespace tape
