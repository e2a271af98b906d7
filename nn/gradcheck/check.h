#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../../autograd/tape/op.h"
#include "gradcheck.h"

namespace tape::nn {

/// Passed to a ModuleCheck, which builds a module and calls it to run the gradient check.
class Checker {
 public:
  /// `forward` calls the module with tensors like the inputs, which are f64 unless they are integers.
  using Question = std::function<GradcheckReport(Module& module, const std::function<Tensor(const Tensors&)>& forward,
                                                 const Tensors& inputs, const GradcheckOptions& options)>;
  /// Calls `question` for each module, with default options.
  explicit Checker(Question question) : question_(std::move(question)) {}
  /// Runs gradcheck or, for second derivatives, gradgradcheck.
  explicit Checker(Derivative derivative, GradcheckOptions options = {})
      : question_([derivative](Module& module, const auto& forward, const Tensors& inputs, const GradcheckOptions& o) {
          return detail::check_module(module, forward, inputs, o, derivative);
        }),
        options_(std::move(options)) {}

  /// Parameters whose names end in `zero` may have zero gradients. Example: "key.bias" of attention, which shifts all
  /// scores of a query equally, so that softmax does not depend on it.
  template <std::derived_from<Module> M>
  GradcheckReport operator()(M& module, const Tensors& inputs, const std::string& zero = "") const {
    GradcheckOptions options = options_;
    for (const NamedTensor& parameter : module.named_parameters())
      if (!zero.empty() && parameter.name.ends_with(zero)) options.allow_zero.push_back(parameter.name);
    return question_(
        module, [&module](const Tensors& in) { return detail::call_with(module, in); }, inputs, options);
  }

 private:
  Question question_;
  GradcheckOptions options_;
};

/// Registry entry of a module class: how to check its gradients. The test suite reads class names from the headers of
/// nn/ and models/ and fails for a layer without a check.
class ModuleCheck : NonCopyable {
 public:
  /// Builds the module and returns check(module, inputs).
  using Run = std::function<GradcheckReport(const Checker& check)>;
  /// Registers the check until it is destroyed; `type` and `label` must live as long.
  ModuleCheck(const char* type, const char* label, Run run, Origin origin = Origin::library);
  ~ModuleCheck();

  const char* type() const { return type_; }    ///< the class, as in "Linear"
  const char* label() const { return label_; }  ///< the case, as in "a sequence"
  /// Builds the module and checks its gradients with `check`.
  GradcheckReport run(const Checker& check) const { return run_(check); }

 private:
  const char* type_;
  const char* label_;
  Run run_;
  const Origin origin_;
  friend class StaticList<ModuleCheck>;
  mutable const ModuleCheck* next_registered_ = nullptr;
};

/// The same for your own layer: `type` is its class, `label` describes the case.
///
///   const nn::CustomCheck lstm_check("Lstm", "a sequence", [](const nn::Checker& check) {
///     Lstm layer(3, 4);
///     return check(layer, {sample_normal({2, 5, 3})});
///   });
///
/// gradcheck_all_registered() and the tests of register_gradient_tests() (registered.h and gtest.h in
/// autograd/gradcheck/) run it.
class CustomCheck : public ModuleCheck {
 public:
  /// Registers the check until it is destroyed, as ModuleCheck does.
  CustomCheck(const char* type, const char* label, Run run)
      : ModuleCheck(type, label, std::move(run), Origin::program) {}
};

/// Returns the checks of the library's module classes, or of the program's.
std::vector<const ModuleCheck*> registered_module_checks(Origin origin = Origin::library);

}  // namespace tape::nn
