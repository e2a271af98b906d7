#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../named_tensor.h"
#include "report.h"

namespace tape {

/// Options of gradcheck(), gradcheck_variables() and gradgradcheck().
struct GradcheckOptions {
  double eps = 1e-6;         ///< step of the central differences, times max(1, |x|); reduced where it is too large
  double rtol = 1e-6;        ///< relative tolerance
  double atol = 1e-8;        ///< absolute tolerance, in units of the variable's largest gradient
  uint64_t seed = 1;         ///< of the random head, and of the sample if not all elements are checked
  int64_t max_elements = 0;  ///< elements checked per variable, a random sample; 0 checks all
  std::vector<std::string> allow_zero = {};  ///< variables whose gradient may be all zero
  std::vector<std::string> names = {};       ///< of the inputs; "input 0", "input 1", ... by default
  /// Variables with more elements than this are checked along this many random directions instead of element by
  /// element, at two evaluations each, for large layers. The report states the probability of missing an error. 0:
  /// elements.
  int64_t directions = 0;
  /// For f32 inputs: the same function in f64, if f itself does not run in f64.
  std::function<Tensor(const Tensors&)> shadow = {};
  double f32_rtol = 1e-3;  ///< relative tolerance for gradients of f32 inputs
  /// Called before each variable with the number done, the total and the name.
  std::function<void(int64_t done, int64_t all, const std::string& name)> progress = {};
  /// Time limit for the comparison, divided evenly among the variables; 0 for no limit. Elements are then checked in
  /// random order, at least one per variable, and the report states the fraction checked. The search for the guilty
  /// operation after a failure does not count.
  double max_seconds = 0;
  bool blame = true;  ///< if the check fails, searches for the recorded operations whose gradients are wrong
};

/// Compares the gradients of f with central differences in f64. The compared scalar is sum(f(inputs) * w) with a random
/// normal w, so that symmetric sums cannot hide errors. i64 and bool inputs are passed on unchecked. A gradient that is
/// all zero is wrong unless listed in allow_zero, even if the differences are zero too. Random streams are reset before
/// each evaluation, so dropout drops the same elements each time. Throws Error (numeric) if f still returns different
/// values for the same inputs.
///
/// Inputs are f64, or all f32: then f runs in f32, and its gradients are compared (to f32_rtol) with differences of an
/// f64 shadow at the same points, which is f itself on f64 inputs, or options.shadow. Throws Error (dtype) for a mix.
///
/// Each input is copied, so the same tensor may be passed several times. Throws Error (graph) if two different inputs
/// overlap in memory or one was computed from the other, because they could not vary independently.
///
/// Where the slopes on the two sides of a point differ at every step size (ReLU at 0, ties of max), there is no
/// derivative to compare with: a tape's value between the two counts as a kink, not as a failure.
///
/// No element is called wrong because of one step size: other steps have to give the same slope. If the usual step is
/// too large (it crosses a nearby pole or kink, as in log|x| at 1e-8) and a smaller one confirms the gradient, the
/// element is right and counted in large_steps. If the differences do not converge at any step (sqrt at 0), it is
/// undecided, neither right nor wrong, and the report is not ok().
///
/// If the check fails, every operation on the tape is checked on its own, and those with wrong gradients are listed in
/// report.guilty (method: autograd/gradcheck/blame.h). Values that change with an input but are used as constants, for
/// example after detach() or in a NoGrad scope, are listed in report.unrecorded. The padding row of embedding(), which
/// has no gradient by design, fails the check if it is looked up and affects the result, but no operation is blamed for
/// it.
GradcheckReport gradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                          const GradcheckOptions& options = {});

/// The same for a function of arbitrary f64 leaves: f recomputes the output from the variables, whose values are
/// changed in place and restored. Their grad() is not modified. Throws Error (graph) if two of them overlap in memory.
GradcheckReport gradcheck_variables(const std::function<Tensor()>& f, const std::vector<NamedTensor>& variables,
                                    const GradcheckOptions& options = {});

/// Checks second derivatives: gradcheck of the gradients of sum(f(inputs) * v), recorded with create_graph, with
/// respect to the inputs and v (named "head"). Second derivatives may be zero, as those of a linear function are.
///
/// If the check fails, the report lists the operations whose first derivatives are wrong or, if there are none, those
/// whose gradient functions cannot be differentiated, because of a detach() or a value passed as a constant.
GradcheckReport gradgradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                              const GradcheckOptions& options = {});

}  // namespace tape
