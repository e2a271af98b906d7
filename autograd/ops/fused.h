#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <utility>

#include "../create.h"
#include "../kernels/runtime/common/isa.h"
#include "../tape/op.h"
#include "../tape/scope.h"
#include "../tape/tape.h"
#include "check.h"
#include "elementwise/cast.h"
#include "fused_call.h"
#include "kernel_call.h"

// Operations with kernels. Write a struct that describes the operation's tensors, kernel calls and reference
// implementation, and pass it to fused():
//
//   struct LayerNorm {
//     double eps;
//
//     // Allocates the results: y, and mean and rstd, which are saved for the backward pass. Default: one tensor like
//     // input 0.
//     Results<1, 2> results(Inputs in) const;
//     // Call one kernel each. c is a ForwardCall or BackwardCall of float or double.
//     void forward(const auto& c) const;
//     void backward(const auto& c) const;
//     // Computes y with public operations.
//     Tensor reference(Inputs in) const;
//   };
//   return fused(layer_norm_op, {x, weight, bias}, LayerNorm{eps}, {{"eps", eps}});
//
// fused() handles dtypes, recording and which gradients are needed. Optional members of the struct:
//
//   Tensors gradients(const BackwardContext& c) const;
//     Gradients computed with operations. Needed if there is no backward kernel or no reference, or useful if shorter
//     than differentiating the reference. c.saved() indexes the saved inputs, outputs and kept values, in this order;
//     parts that are not saved are skipped.
//   bool saves_inputs = true, saves_outputs = false, has_backward = true;
//     What is saved for the gradients in addition to the kept values, and whether there is a backward kernel. Members
//     rather than constants, so that calls can differ.
//   static constexpr bool results_have_values = true;
//     There is no forward kernel: results() also computes the values, with operations on detached inputs.
//   bool reuses_saved = false;
//     The gradient of input 0 may reuse the memory of the first saved value if nothing else needs it.
//   bool reuses_kept = false;
//     Kept value i has the size of input i, and that input's gradient may reuse its memory if nothing else needs it.
//   static constexpr bool adds_gradient = true;
//     The backward kernel adds c.added() to the gradient of input 0, unless it is null: the sum of gradients of other
//     operations, in the memory of c.din(0).
//   Tensor saved_input(size_t i, Inputs in) const;
//     Tensor to save for input i. Default: in[i].
//   Tensor new_gradient(size_t i, const Tensor& saved) const;
//     Allocates the gradient of input i. Default: empty_like(saved).
//   std::array<Tensor, N> constants() const;
//     Tensors of any dtype that are read but have no gradient. They are saved, so that the backward pass detects
//     modifications. Kernels read them as c.constant<int64_t>(i).
//   void computed(Inputs in, Inputs outputs) const;
//     Called after each call, including calls of the reference, with the tensors in compute dtype (f32 for f16, bf16).
//   bool computes_halves(const kernels::Target& target, Inputs in) const;
//     Whether the kernels of a target take the inputs, the first of which is f16 or bf16, as they are. Otherwise those
//     in 16 bits are cast to f32. forward() and backward() are then also called with values of Half and BFloat16.
//   bool computes_bf16(const kernels::Target& target, Inputs in) const;
//     The same for bf16 only. forward() and backward() are also called with values of BFloat16.
namespace tape {

/// Results of a call: its outputs, the last of which may be undefined, and further values kept for the backward pass.
/// Trailing outputs of a non-floating dtype have no gradient and are not recorded; they may be kept as well.
template <size_t Outputs, size_t Kept = 0>
struct Results {
  std::array<Tensor, Outputs> outputs;
  std::array<Tensor, Kept> kept = {};
};

namespace detail {

template <class Operation>
concept ComputesHalves =
    requires(const Operation& o, const kernels::Target& target, Inputs in) { o.computes_halves(target, in); };
template <class Operation>
concept ComputesBf16 =
    requires(const Operation& o, const kernels::Target& target, Inputs in) { o.computes_bf16(target, in); };

template <class Operation>
concept HasReference = requires(const Operation& o, Inputs in) { o.reference(in); };
/// Gradients computed with operations, for higher-order differentiation or without a backward kernel.
template <class Operation>
concept HasGradients = requires(const Operation& o, const BackwardContext& c) { o.gradients(c); };
template <class Operation>
concept HasBackwardKernel = requires(const Operation& o, const BackwardCall<float>& c) { o.backward(c); };

/// The optional members of an operation, or their defaults.
struct FusedTraits {
  bool saves_inputs = true, saves_outputs = false, has_backward = true, reuses_saved = false, reuses_kept = false,
       adds_gradient = false;

  template <class Operation>
  explicit FusedTraits(const Operation& o) {
    if constexpr (requires { o.saves_inputs; }) saves_inputs = o.saves_inputs;
    if constexpr (requires { o.saves_outputs; }) saves_outputs = o.saves_outputs;
    if constexpr (requires { o.has_backward; }) has_backward = o.has_backward;
    if constexpr (requires { o.reuses_saved; }) reuses_saved = o.reuses_saved;
    if constexpr (requires { o.reuses_kept; }) reuses_kept = o.reuses_kept;
    if constexpr (requires { o.adds_gradient; }) adds_gradient = o.adds_gradient;
  }
};
template <class Operation>
Tensor saved_input(const Operation& o, size_t i, Inputs in) {
  if constexpr (requires { o.saved_input(i, in); }) return o.saved_input(i, in);
  return in[i];
}
template <class Operation>
Tensor new_gradient(const Operation& o, size_t i, const Tensor& saved) {
  if constexpr (requires { o.new_gradient(i, saved); })
    return o.new_gradient(i, saved);
  else
    return empty_like(saved);
}
template <class Operation>
auto constants(const Operation& o) {
  if constexpr (requires { o.constants(); })
    return o.constants();
  else
    return std::array<Tensor, 0>();
}

template <class Operation>
auto results(const Operation& o, Inputs in) {
  if constexpr (requires { o.results(in); })
    return o.results(in);
  else
    return Results<1>{{empty_like(in[0])}};
}

inline std::array<Tensor, 1> as_array(Tensor x) { return {std::move(x)}; }
template <size_t N>
std::array<Tensor, N> as_array(std::array<Tensor, N> tensors) {
  return tensors;
}

/// Types of a call of an operation with N inputs, and the offsets of its saved tensors in the node: inputs, outputs,
/// kept values, constants.
template <size_t N, class Operation>
struct SavedLayout {
  using Made = decltype(results(std::declval<const Operation&>(), Inputs()));
  using Outputs = decltype(Made::outputs);
  using Kept = decltype(Made::kept);
  using Constants = decltype(constants(std::declval<const Operation&>()));
  static constexpr size_t kMaxSaved =
      N + std::tuple_size_v<Outputs> + std::tuple_size_v<Kept> + std::tuple_size_v<Constants>;

  explicit SavedLayout(const FusedTraits& traits)
      : inputs(traits.saves_inputs ? N : 0), kept(inputs + (traits.saves_outputs ? std::tuple_size_v<Outputs> : 0)) {}

  size_t inputs, kept;  // number of saved inputs, which is the offset of the outputs; offset of the kept values
  /// Reads all tensors of one part. Error (graph) if one was modified since.
  template <class Part>
  static Part read(const BackwardContext& c, size_t first) {
    Part part;
    for (size_t i = 0; i < part.size(); ++i) part[i] = c.saved(first + i);
    return part;
  }
  Constants read_constants(const BackwardContext& c) const {
    return read<Constants>(c, kept + std::tuple_size_v<Kept>);
  }
};

/// Calls f(T{}) with the C++ type of a kernel's values.
template <class Operation, class F>
void dispatch_values(const char* name, DType dtype, F&& f) {
#if !defined(__wasm__)  // which has no kernels for 16 bits
  if constexpr (ComputesHalves<Operation>)
    if (dtype == DType::f16) return f(Half{});
#endif
  if constexpr (ComputesHalves<Operation> || ComputesBf16<Operation>)
    dispatch_with_bf16(name, dtype, f);
  else
    dispatch_floating(name, dtype, f);
}

/// Computes the gradients with the backward kernel.
template <size_t N, class Operation>
Tensors gradients_by_kernel(const char* name, const Operation& operation, const BackwardContext& c) {
  using P = SavedLayout<N, Operation>;
  const FusedTraits traits(operation);
  const P parts(traits);
  Tensors gradients(N);
  if (traits.adds_gradient) gradients[0] = c.grad_sum(0);
  const bool adds = gradients[0].defined();
  if (traits.reuses_saved && c.needs(0)) gradients[0] = c.reuse_saved_or_empty(0);
  if (traits.reuses_kept)
    for (size_t i = 0; i < std::tuple_size_v<typename P::Kept>; ++i)
      if (c.needs(i)) gradients[i] = c.reuse_saved_or_empty(parts.kept + i);
  std::array<Tensor, N> inputs;
  typename P::Outputs outputs, arriving;
  if (traits.saves_inputs) inputs = P::template read<std::array<Tensor, N>>(c, 0);
  if (traits.saves_outputs) outputs = P::template read<typename P::Outputs>(c, parts.inputs);
  const auto kept = P::template read<typename P::Kept>(c, parts.kept);
  const auto fixed = parts.read_constants(c);
  for (size_t i = 0; i < arriving.size(); ++i)
    if (i == 0 || c.has_grad(i)) arriving[i] = c.grad(i);
  for (size_t i = 0; i < N; ++i)
    if (c.needs(i) && !gradients[i].defined())
      gradients[i] = new_gradient(operation, i, traits.saves_inputs ? inputs[i] : arriving[0]);
  run_kernels(name, arriving[0].device(), [&](const KernelCall& at) {
    // A loss may have another dtype than its inputs.
    const DType values = inputs[0].defined() ? inputs[0].dtype() : arriving[0].dtype();
    dispatch_values<Operation>(name, values, [&]<class T>(T) {
      operation.backward(BackwardCall<T>(at, inputs, outputs, kept, fixed, arriving, gradients, adds));
    });
  });
  return gradients;
}

template <size_t N, class Operation>
Tensors fused_gradients(const char* name, const Operation& operation, const BackwardContext& c) {
  if constexpr (HasBackwardKernel<Operation>)
    if (FusedTraits(operation).has_backward && !c.create_graph()) return gradients_by_kernel<N>(name, operation, c);
  if constexpr (HasGradients<Operation>) {
    return operation.gradients(c);
  } else {
    using P = SavedLayout<N, Operation>;
    const auto inputs = P::template read<std::array<Tensor, N>>(c, 0);
    P(FusedTraits(operation)).read_constants(c);  // only to check that the constants were not modified
    return reference_gradients(c, Tensors(inputs.begin(), inputs.end()), std::tuple_size_v<typename P::Outputs>,
                               [&](const Tensors& in) {
                                 const auto outputs = as_array(operation.reference(Inputs(in)));
                                 return Tensors(outputs.begin(), outputs.end());
                               });
  }
}

/// Whether the kernels take the inputs, the first of which is f16 or bf16, as they are.
template <class Operation>
bool takes_halves(const Operation& o, Inputs in) {
  if (Composed::active()) return false;
  const kernels::Target target{in[0].device()};
  if constexpr (ComputesHalves<Operation>) return o.computes_halves(target, in);
  if constexpr (ComputesBf16<Operation>) return in[0].dtype() == DType::bf16 && o.computes_bf16(target, in);
  return false;
}

/// One call in f32 or f64, or in a 16-bit type that the kernels take. Returns an array of the outputs.
template <size_t N, class Operation>
auto call(const Op& op, Inputs in, const Operation& operation, AttributeList attributes) {
  check_floating(op.name(), in[0]);
  if constexpr (HasReference<Operation>)
    if (Composed::active()) return as_array(operation.reference(in));
  auto made = results(operation, in);
  const std::span<Tensor> outputs(made.outputs), kept(made.kept);
  const auto fixed = constants(operation);
  if constexpr (!requires { Operation::results_have_values; })
    run_kernels(op.name(), in[0].device(), [&](const KernelCall& at) {
      dispatch_values<Operation>(op.name(), in[0].dtype(),
                                 [&]<class T>(T) { operation.forward(ForwardCall<T>(at, in, fixed, outputs, kept)); });
    });
  if (!needs_record(in)) {
    observe_use(in);
    return std::move(made.outputs);
  }
  size_t given = outputs.size();
  while (!outputs[given - 1].defined() || !is_floating(outputs[given - 1].dtype())) --given;
  std::array<Tensor, SavedLayout<N, Operation>::kMaxSaved> saved;
  auto end = saved.begin();
  const FusedTraits traits(operation);
  if (traits.saves_inputs)
    for (size_t i = 0; i < N; ++i) *end++ = saved_input(operation, i, in);
  if (traits.saves_outputs) end = std::copy(outputs.begin(), outputs.end(), end);
  end = std::move(kept.begin(), kept.end(), end);
  end = std::copy(fixed.begin(), fixed.end(), end);
  record_node(
      op, in, Inputs(made.outputs).first(given), Inputs(saved.begin(), end),
      [operation](const BackwardContext& c) -> Tensors { return fused_gradients<N>(c.name(), operation, c); },
      attributes);
  return std::move(made.outputs);
}

}  // namespace detail

/// Runs and records an operation with kernels. Returns a tensor, or an array if there are several outputs. f16 and bf16
/// inputs are computed in f32 and the outputs rounded back, each with a recorded cast, unless the operation's kernels
/// take them (computes_halves, computes_bf16). In a Composed scope the
/// reference runs instead, if there is one. Gradients come from the kernel or, for higher-order differentiation, from
/// gradients() or the reference. Error (dtype) for inputs that are not floating.
template <class Operation, size_t N>
auto fused(const Op& op, const Tensor (&inputs)[N], const Operation& operation, AttributeList attributes = {}) {
  const auto run = [&](Inputs in) {
    auto outputs = detail::call<N>(op, in, operation, attributes);
    if constexpr (requires { operation.computed(in, Inputs(outputs)); }) operation.computed(in, Inputs(outputs));
    return outputs;
  };
  using Outputs = decltype(run(Inputs(inputs)));
  const DType dtype = inputs[0].dtype();
  Outputs outputs;
  if (!is_half(dtype) || detail::takes_halves(operation, Inputs(inputs))) {
    outputs = run(Inputs(inputs));
  } else {
    std::array<Tensor, N> wide;
    for (size_t i = 0; i < N; ++i)
      wide[i] = inputs[i].defined() && is_half(inputs[i].dtype()) ? cast(inputs[i], f32) : inputs[i];
    outputs = run(Inputs(wide));
    for (Tensor& output : outputs)
      if (output.defined() && is_floating(output.dtype())) output = cast(output, dtype);
  }
  if constexpr (std::tuple_size_v<Outputs> == 1)
    return std::move(outputs[0]);
  else
    return outputs;
}

}  // namespace tape
