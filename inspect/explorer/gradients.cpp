#include <algorithm>
#include <unordered_map>

#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/tape.h"
#include "inspect/experiments/patch.h"
#include "inspect/explorer/explorer.h"

namespace tape::inspect {
namespace {

/// A study whose module runs in f64 with its parameters replaced by variables.
class ModuleInDouble {
 public:
  explicit ModuleInDouble(const Study& study) : study_(study), fixed_(f64_parameters(*study.module)) {
    for (const NamedTensor& parameter : study.module->named_parameters())
      if (parameter.tensor.requires_grad()) {
        const TensorImpl* const place = parameter.tensor.ref().get();
        variables_.push_back({{parameter.name, fixed_.extract(place).mapped().detach()}, place});
      }
  }

  GradcheckReport check(const GradcheckOptions& options) {
    fix_what_has_no_gradient();
    GradcheckOptions named = options;
    Tensors values;
    for (const Variable& variable : variables_) {
      named.names.push_back(variable.named.name);
      values.push_back(variable.named.tensor);
    }
    return gradcheck([this](const Tensors& in) { return output(in); }, values, named);
  }

 private:
  struct Variable {
    NamedTensor named;
    const TensorImpl* place;
  };

  Tensor output(const Tensors& values) const {
    auto replacements = fixed_;
    for (size_t i = 0; i < values.size(); ++i) replacements.emplace(variables_[i].place, values[i]);
    const nn::TensorSwap swap(*study_.module, replacements);
    return study_.run().at(0).value;
  }

  /// Excludes variables that the output does not depend on, and key biases that cancel in softmax: there the check
  /// would compare rounding errors only.
  void fix_what_has_no_gradient() {
    const EnableGrad recording;
    Tensors leaves;
    for (const Variable& variable : variables_) leaves.push_back(variable.named.tensor.detach().requires_grad_());
    const Tensor y = output(leaves);
    check_recorded("check_gradients", y);
    const Tensors gradients = grad({y}, leaves, {.allow_unused = true});
    const auto largest = [&](size_t i) {
      if (!gradients[i].defined() || gradients[i].numel() == 0) return 0.0;
      return max(abs(gradients[i])).item();
    };
    double of_all = 0;
    for (size_t i = 0; i < leaves.size(); ++i) of_all = std::max(of_all, largest(i));
    std::vector<Variable> kept;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const NamedTensor& named = variables_[i].named;
      const bool rounding = named.name.ends_with("key.bias") && largest(i) < 1e-12 * of_all;
      if (gradients[i].defined() && !rounding)
        kept.push_back(variables_[i]);
      else
        fixed_.emplace(variables_[i].place, named.tensor);
    }
    variables_ = kept;
  }

  const Study& study_;
  std::unordered_map<const TensorImpl*, Tensor> fixed_;
  std::vector<Variable> variables_;
};

}  // namespace

GradcheckReport check_gradients(const Study& study, const GradcheckOptions& options) {
  if (!study.run) raise(ErrorKind::config, "check_gradients: the study has no function to run");
  if (!study.module) return gradcheck_variables([&study] { return study.run().at(0).value; }, study.leaves, options);
  return ModuleInDouble(study).check(options);
}

}  // namespace tape::inspect
