#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../named_tensor.h"
#include "report.h"

namespace tape {

struct GradcheckOptions {
  double eps = 1e-6;         ///< step of the central differences, times max(1, |x|); smaller where that is too large
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
  /// Called in front of each variable: how many are done, of how many, and its name.
  std::function<void(int64_t done, int64_t all, const std::string& name)> progress = {};
  /// Time for the comparison, shared out evenly among the variables; 0 is no limit. Elements are then taken in random
  /// order, at least one of each variable, and the report says which share of them was checked. What a failure adds,
  /// the search for the guilty operation, is not counted.
  double max_seconds = 0;
  bool blame = true;  ///< where the check fails, find the recorded operations whose gradients are wrong
};

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
/// No element is called wrong by one step alone: other steps have to give the same slope. Where the usual step is too
/// large (it crosses a pole or a kink nearby, as in log|x| at 1e-8) and a smaller one confirms the gradient, the
/// element is right and counted in large_steps. Where the differences converge at no step (sqrt at 0), it is undecided:
/// neither right nor wrong, and the report is not ok().
///
/// Where the check fails, every operation on the tape is checked by itself, and those whose gradients are wrong are
/// named in report.guilty (autograd/gradcheck/blame.h says how). Values that change with an input but are used as
/// constants, after detach() or in a NoGrad scope for example, are named in report.unrecorded. The padding row of
/// embedding(), which has no gradient by design, fails the check where it is looked up and counts, but no operation is
/// blamed for it.
GradcheckReport gradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                          const GradcheckOptions& options = {});

/// The same for a function of any leaves: f computes the output anew from the variables, whose values are changed in
/// place and restored. Their grad() is not touched. They are f64. Error (graph) where two of them overlap in memory.
GradcheckReport gradcheck_variables(const std::function<Tensor()>& f, const std::vector<NamedTensor>& variables,
                                    const GradcheckOptions& options = {});

/// Checks the gradient of the gradient: gradcheck of the gradients of sum(f(inputs) * v), recorded with create_graph,
/// with respect to the inputs and v (named "head"). Second derivatives may be zero: those of a linear function are.
///
/// Where the check fails, the operations are named whose own gradients are wrong or, where there are none, those whose
/// gradient functions cannot be differentiated: a detach() in one, or a value that it was given as a constant.
GradcheckReport gradgradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                              const GradcheckOptions& options = {});

}  // namespace tape
