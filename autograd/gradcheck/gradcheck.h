#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "../tensor.h"

namespace tape {

/// A tensor and what reports call it.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct GradcheckOptions {
  double eps = 1e-6;         ///< step of the central differences, times max(1, |x|)
  double rtol = 1e-6;        ///< largest relative error of a right element
  double atol = 1e-8;        ///< absolute tolerance, in units of the variable's largest gradient
  uint64_t seed = 1;         ///< of the random head, and of the sample where not all elements are checked
  int64_t max_elements = 0;  ///< elements checked per variable, a random sample of them; 0 checks all
  std::vector<std::string> allow_zero = {};  ///< variables whose gradient may be all zero
  std::vector<std::string> names = {};       ///< of the inputs; "input 0", "input 1", ... where empty
  /// Variables with more elements than this are checked along so many random directions instead of element by element,
  /// for two evaluations each: for large layers. The report states the chance that an error goes unseen. 0: elements.
  int64_t directions = 0;
  /// For f32 inputs: the same function in f64, where f itself does not run in f64.
  std::function<Tensor(const Tensors&)> shadow = {};
  double f32_rtol = 1e-3;  ///< the relative error allowed of the gradients of f32 inputs
  bool blame = true;       ///< where the check fails, find the recorded operations whose gradients are wrong
};

/// What the check found for one input or parameter.
struct GradcheckResult {
  std::string name;
  Shape shape;
  int64_t checked = 0;  ///< elements compared
  int64_t wrong = 0;    ///< of these, how many are off
  double max_error =
      0;  ///< largest |analytic - numeric| / max(|analytic|, |numeric|); near zero, of what rounding allows
  std::vector<int64_t> worst;  ///< index of the element with that error; empty for rank 0 and where nothing is wrong
  double analytic = 0;         ///< its gradient on the tape
  double numeric = 0;          ///< its gradient by central differences
  bool all_zero = false;       ///< every element of the gradient is 0, and that was not declared
  std::string explanation;     ///< what the pattern of errors suggests; empty where the gradient is right

  int64_t kinks = 0;             ///< elements where the slopes below and above differ: no derivative to compare with
  std::vector<int64_t> kink_at;  ///< the first of them
  double slope_below = 0, slope_above = 0;  ///< there; the tape's gradient lies between

  int64_t directions = 0;   ///< random directions compared in place of elements; then `checked` and `wrong` count them
  double miss_chance = 0;   ///< that an error of 1% of the gradient's length goes unseen by all of them
  double miss_element = 0;  ///< that an error as large as one element of average size does

  bool ok() const { return wrong == 0 && !all_zero; }
};

/// A recorded operation whose own gradient is not that of its own inputs.
struct GuiltyOperation {
  std::string operation;     ///< "my_gelu"
  std::string attributes;    ///< "axis=1, descending=true", of the call; "" where it has none
  std::string module_path;   ///< "layers.1.feed_forward.activation"; "" outside of modules
  std::string source;        ///< file:line of the call, a function's name without debug information, or ""
  int64_t place = 0;         ///< how many operations the function recorded before it, counted from its first
  bool composed = false;     ///< a step of a fused operation, seen in a Composed scope
  GradcheckResult gradient;  ///< of one input, named "input 0": analytic (its backward) against numeric
};
/// "guilty: my_norm(eps=1e-05) (feed_forward.norm), called at layer.cpp:42: gradient of input 0: [1, 3] is 0.512,
/// should
/// ..."
std::string to_string(const GuiltyOperation& guilty);

/// The comparison of all gradients of a function with central differences; prints as a table with a paragraph for each
/// wrong gradient, and a line for each guilty operation.
struct GradcheckReport {
  std::vector<GradcheckResult> variables;
  std::vector<GuiltyOperation> guilty;  ///< in the order recorded
  std::string blame;                    ///< what else the search for them found, "" where there was none

  bool ok() const;
  explicit operator bool() const { return ok(); }
};
std::string to_string(const GradcheckReport& report);
std::ostream& operator<<(std::ostream& stream, const GradcheckReport& report);

/// Compares the gradients of f with central differences in f64, through a random head: of sum(f(inputs) * w) with w
/// normal, so that no error can hide behind a symmetric sum. i64 and bool inputs are passed on unchecked. A gradient
/// that is all zero is wrong unless declared in allow_zero, even where the differences are zero too. The random streams
/// are set back before each evaluation, so dropout drops the same elements each time. Error (numeric) where f still
/// gives different values for the same inputs.
///
/// Inputs are f64, or all f32: then f runs in f32, and its gradients are compared (to f32_rtol) with the differences of
/// an f64 shadow at the same points: f itself on f64 inputs, or options.shadow. Error (dtype) where they are mixed.
///
/// Each input is copied, so one tensor may be given for several. Error (graph) where two different inputs overlap in
/// memory or one was made from the other: they are checked as independent and would not be.
///
/// Where the slopes on the two sides of a point disagree however small the step (ReLU at 0, ties of max), there is no
/// gradient to compare with: a tape's value between the two is counted as a kink, not as a failure.
///
/// Where the check fails, every operation on the tape is checked by itself, and those whose gradients are wrong are
/// named in report.guilty (autograd/gradcheck/blame.h says how). The padding row of embedding(), which has no gradient
/// by design, fails the check where it is looked up and counts, but no operation is blamed for it.
GradcheckReport gradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                          const GradcheckOptions& options = {});

/// The same for a function of any leaves: f computes the output anew from the variables, whose values are changed in
/// place and restored. Their grad() is not touched. They are f64. Error (graph) where two of them overlap in memory.
GradcheckReport gradcheck_variables(const std::function<Tensor()>& f, const std::vector<NamedTensor>& variables,
                                    const GradcheckOptions& options = {});

/// Checks the gradient of the gradient: gradcheck of the gradients of sum(f(inputs) * v), recorded with create_graph,
/// with respect to the inputs and v (named "head"). Second derivatives may be zero: those of a linear function are. No
/// operation is blamed.
GradcheckReport gradgradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                              const GradcheckOptions& options = {});

}  // namespace tape
