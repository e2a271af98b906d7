#pragma once

#include <concepts>

#include "../../autograd/gradcheck/gradcheck.h"
#include "../../autograd/ops/attention/attention.h"
#include "../module/module.h"

namespace tape::nn {

namespace detail {

inline const Tensor& output_of(const Tensor& output) { return output; }
inline const Tensor& output_of(const AttentionResult& result) { return result.output; }

/// Calls the module with as many arguments as there are inputs.
template <class M>
Tensor call_with(M& module, const Tensors& in) {
  if constexpr (requires { module.forward(in[0]); })
    if (in.size() == 1) return output_of(call(module, in[0]));
  if constexpr (requires { module.forward(in[0], in[1]); })
    if (in.size() == 2) return output_of(call(module, in[0], in[1]));
  if constexpr (requires { module.forward(in[0], in[1], in[2]); })
    if (in.size() == 3) return output_of(call(module, in[0], in[1], in[2]));
  raise(ErrorKind::config, "gradcheck: {} has no forward that takes {} tensors", module.type_name(), in.size());
}

GradcheckReport check_module(Module& module, const std::function<Tensor(const Tensors&)>& forward,
                             const Tensors& inputs, const GradcheckOptions& options, Derivative derivative);

}  // namespace detail

/// Compares the gradients of every input and every named parameter of a module with central differences (see
/// tape::gradcheck). The module runs in f64 for the check, whatever its own dtype, and is restored afterwards. Frozen
/// parameters are not checked. With f32 inputs it runs in f32 and compares with an f64 shadow: the module itself in
/// f64, or options.shadow, which receives the inputs followed by the parameters in the order of named_parameters().
/// Tensors with gradients that the module uses but has not registered are listed in report.unregistered, and the report
/// is then not ok(); inputs that require gradients are not among them.
template <std::derived_from<Module> M>
GradcheckReport gradcheck(M& module, const Tensors& inputs, const GradcheckOptions& options = {}) {
  const auto forward = [&module](const Tensors& in) { return detail::call_with(module, in); };
  return detail::check_module(module, forward, inputs, options, Derivative::first);
}

/// The same for second derivatives (see tape::gradgradcheck).
template <std::derived_from<Module> M>
GradcheckReport gradgradcheck(M& module, const Tensors& inputs, const GradcheckOptions& options = {}) {
  const auto forward = [&module](const Tensors& in) { return detail::call_with(module, in); };
  return detail::check_module(module, forward, inputs, options, Derivative::second);
}

}  // namespace tape::nn
