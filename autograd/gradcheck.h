#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "autograd/tensor.h"

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

  bool ok() const { return wrong == 0 && !all_zero; }
};

/// The comparison of all gradients of a function with central differences; prints as a table with a paragraph for each
/// wrong gradient.
struct GradcheckReport {
  std::vector<GradcheckResult> variables;

  bool ok() const;
  explicit operator bool() const { return ok(); }
};
std::string to_string(const GradcheckReport& report);
std::ostream& operator<<(std::ostream& stream, const GradcheckReport& report);

/// Compares the gradients of f with central differences in f64, through a random head: of sum(f(inputs) * w) with w
/// normal, so that no error can hide behind a symmetric sum. Inputs are f64 (f32 is an Error (dtype)); i64 and bool
/// inputs are passed on unchecked. A gradient that is all zero is wrong unless declared in allow_zero, even where the
/// differences are zero too. The random streams are set back before each evaluation, so dropout drops the same elements
/// each time. Error (numeric) where f still gives different values for the same inputs.
GradcheckReport gradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                          const GradcheckOptions& options = {});

/// The same for a function of any leaves: f computes the output anew from the variables, whose values are changed in
/// place and restored. Their grad() is not touched.
GradcheckReport gradcheck_variables(const std::function<Tensor()>& f, const std::vector<NamedTensor>& variables,
                                    const GradcheckOptions& options = {});

/// Checks the gradient of the gradient: gradcheck of the gradients of sum(f(inputs) * v), recorded with create_graph,
/// with respect to the inputs and v (named "head"). Second derivatives may be zero: those of a linear function are.
GradcheckReport gradgradcheck(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs,
                              const GradcheckOptions& options = {});

}  // namespace tape
