#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "../tensor.h"

namespace tape {

class Node;

/// What is summed of a gradient that has the output's shape, where the input has another.
enum class Summed { nothing, repeated_axes, batch };

/// The gradients of an operation's inputs, a text each. At most eight, without memory of its own: operations are made
/// before main(), where an exception would end the program.
class GradientTexts {
 public:
  static constexpr size_t kMost = 8;

  GradientTexts() = default;
  /// Error (config) for more than kMost texts.
  GradientTexts(std::initializer_list<std::string_view> texts);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view operator[](size_t i) const { return texts_[i]; }
  const std::string_view* begin() const { return texts_.data(); }
  const std::string_view* end() const { return texts_.data() + size_; }

 private:
  std::array<std::string_view, kMost> texts_{};
  size_t size_ = 0;
};

/// The mathematics of an operation, as it stands in its file.
///
/// In the texts {0}, {1}, ... are the shapes of inputs (nothing where one was not given), {y} that of the output, {x}
/// that of the input whose gradient is meant and {i} its number; {eps} is the attribute eps of the call. <2:text>
/// stands where input 2 was given, and <reverse:text|otherwise> where the call has an attribute reverse that is neither
/// false nor 0.0; they nest.
struct OpFormula {
  std::string_view forward = {};  ///< "y{y} = a{0} + b{1}"
  GradientTexts backward = {};    ///< one per input, "da = dy"; further inputs use the last
  Summed summed = Summed::nothing;
};

/// The mathematics of one recorded operation, with the shapes and attributes it had.
struct Formula {
  std::string forward;                ///< "y [2, 3] = a [2, 4] · b [4, 3]"
  std::vector<std::string> backward;  ///< one an input: "da [2, 4] = dy [2, 3] · bᵀ"; "" for one that was not given
};

/// The formula of a recorded operation that was given `inputs` (undefined ones were not given); dy is the gradient that
/// arrives, dx the one that is passed on. An operation without a formula (custom(), for example) gets one that names
/// its inputs alone, and so does one whose inputs are not known (an empty list).
Formula formula_of(const Node& node, const Tensors& inputs);
/// The same of the operation that made y. Error (graph) for a tensor that no operation on the tape made.
Formula formula_of(const Tensor& y, const Tensors& inputs);

}  // namespace tape
