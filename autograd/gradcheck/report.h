#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "../shape.h"

namespace tape {

/// The derivative that a check is for: first for gradcheck(), second for gradgradcheck().
enum class Derivative { first, second };

/// Result of the check of one input or parameter.
struct GradcheckResult {
  std::string name;     ///< of the input or parameter
  Shape shape;          ///< of the input or parameter
  int64_t checked = 0;  ///< number of elements compared
  int64_t wrong = 0;    ///< number of these that are wrong
  /// Largest |analytic - numeric| / max(|analytic|, |numeric|); near zero relative to the scale of rounding.
  double max_error = 0;
  std::vector<int64_t> worst;  ///< index of the element with that error; empty for rank 0 and if nothing is wrong
  double analytic = 0;         ///< its gradient on the tape
  double numeric = 0;          ///< its gradient by central differences
  bool all_zero = false;       ///< every element of the gradient is 0, and allow_zero does not list it
  std::string explanation;     ///< what the pattern of errors suggests; empty if the gradient is right

  int64_t kinks = 0;             ///< elements where the slopes below and above differ: no derivative to compare with
  std::vector<int64_t> kink_at;  ///< the first of them
  /// The slopes there; the tape's gradient lies between.
  /// @{
  double slope_below = 0, slope_above = 0;
  /// @}

  int64_t undecided = 0;  ///< elements whose differences do not converge at any step: neither right nor wrong
  std::vector<int64_t> undecided_at;  ///< the first of them
  double undecided_value = 0;         ///< the variable's value there
  double undecided_gradient = 0;      ///< the tape's gradient there
  std::string undecided_reason;       ///< why the differences are inconclusive

  int64_t large_steps = 0;             ///< elements for which the usual step is too large; a smaller one confirms them
  std::vector<int64_t> large_step_at;  ///< the first of them
  double large_step_value = 0;         ///< the variable's value there
  double large_step = 0;               ///< the usual step there
  double smaller_step = 0;             ///< the step that confirms the gradient

  int64_t directions = 0;   ///< random directions compared instead of elements; `checked` and `wrong` then count them
  double miss_chance = 0;   ///< probability that all of them miss an error of 1% of the gradient's norm
  double miss_element = 0;  ///< probability that they miss an error as large as one element of average size

  /// Returns the fraction of its elements that were compared, 0 to 1; a direction covers all of them.
  double share() const {
    return directions > 0 || shape.numel() == 0 ? 1 : static_cast<double>(checked) / static_cast<double>(shape.numel());
  }
  /// Whether nothing is wrong or undecided, and the gradient is not all zero unless that is allowed.
  bool ok() const { return wrong == 0 && undecided == 0 && !all_zero; }
};

/// A recorded operation whose gradient is wrong for its own inputs.
struct GuiltyOperation {
  std::string operation;    ///< as in "my_gelu"
  std::string attributes;   ///< of the call, as in "axis=1, descending=true"; "" if it has none
  std::string module_path;  ///< as in "layers.1.feed_forward.activation"; "" outside of modules
  std::string source;       ///< file:line of the call, a function's name without debug information, or ""
  int64_t place = 0;        ///< number of operations that the function recorded before it
  bool composed = false;    ///< whether it is a step of a fused operation, found in a Composed scope
  Derivative derivative = Derivative::first;  ///< second: its gradient is right, but the derivative of that is not
  GradcheckResult gradient;  ///< of one input, named "input 0": analytic (its backward) against numeric
};
/// As in "guilty: my_norm(eps=1e-05) (feed_forward.norm), called at layer.cpp:42: gradient of input 0: [1, 3] is 0.512,
/// should be 0.256, ...".
std::string to_string(const GuiltyOperation& guilty);

/// A value that changes with a variable but was used as a constant by an operation, so that no gradient flows through
/// it: after detach(), in a NoGrad scope, or copied out with data() or item().
struct UnrecordedRead {
  std::string operation;               ///< the operation that used it, as in "div"
  std::string attributes;              ///< of the call, as in GuiltyOperation
  std::string module_path;             ///< of the call
  std::string source;                  ///< of the call
  int64_t place = 0;                   ///< number of operations that the function recorded before it
  std::string value;                   ///< as in "input 1 [3]", "attribute \"scale\""
  std::string origin;                  ///< where it comes from, if known: "it is a detach() of input 0"
  std::vector<std::string> variables;  ///< variables that it changes with; empty if unknown
};
/// As in "unrecorded: div, called at layer.cpp:42, uses input 1 [3] as a constant, but it changes with input 0: it is a
/// detach() of input 0."
std::string to_string(const UnrecordedRead& read);

/// A tensor with gradients that a module uses without registering it, so that it is not trained, saved or printed.
struct UnregisteredTensor {
  Shape shape;              ///< of the tensor
  std::string operation;    ///< the first operation that used it, as in "linear"
  std::string module_path;  ///< where that ran; known, like the source, if a Trace scope was open
  std::string source;       ///< file:line of that call, or a function's name without debug information
};
/// As in "[4, 4], first used by linear (layers.0), called at layer.cpp:42".
std::string to_string(const UnregisteredTensor& tensor);

/// Comparison of all gradients of a function with central differences. Prints as a table with a paragraph for each
/// wrong gradient and a line for each guilty operation.
struct GradcheckReport {
  std::vector<GradcheckResult> variables;        ///< one per input or parameter checked
  std::vector<GuiltyOperation> guilty;           ///< in the order recorded
  std::vector<UnrecordedRead> unrecorded;        ///< values that bypassed the tape, in the order recorded
  std::vector<UnregisteredTensor> unregistered;  ///< tensors with gradients that are not the module's parameters
  std::string blame;                             ///< further findings of the search, "" without a search
  double seconds = 0;                            ///< duration of the comparison, without the search
  bool out_of_time = false;                      ///< whether max_seconds left elements unchecked

  /// Returns the fraction of the elements of all variables that were compared.
  double share() const;

  /// Whether every variable is ok() and no tensor is unregistered; elements left unchecked do not count.
  /// @{
  bool ok() const;
  explicit operator bool() const { return ok(); }
  /// @}
};
/// The table and paragraphs described at GradcheckReport.
/// @{
std::string to_string(const GradcheckReport& report);
std::ostream& operator<<(std::ostream& stream, const GradcheckReport& report);
/// @}

/// Returns the report as a JSON object with keys named like the members here, plus "ok" and "share" of the report and
/// of each variable. Non-finite numbers are the strings "nan", "inf" and "-inf".
std::string to_json(const GradcheckReport& report);

}  // namespace tape
