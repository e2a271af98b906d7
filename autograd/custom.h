#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <vector>

#include "tape/op.h"
#include "tape/tape.h"

namespace tape {

/// Context of a custom forward function: its inputs, and what it saves for backward. Nothing it computes is recorded.
class ForwardContext {
 public:
  /// `operation` is its name and must have static storage.
  ForwardContext(const char* operation, const Tensors& inputs);

  const Tensors& inputs() const { return inputs_; }  ///< as passed to custom()
  /// Input i. Throws Error (graph) if it does not exist.
  const Tensor& input(size_t i) const;
  /// Whether input i needs a gradient; always false when nothing is recorded.
  bool needs(size_t i) const { return i < needed_.size() && needed_[i]; }
  /// Saves values for the gradient function, which reads them as c.saved(0), c.saved(1), ...: inputs, outputs or
  /// intermediate values. Inputs and outputs keep their history, so a gradient computed from them can be differentiated
  /// again; other values are constants there, and gradgradcheck() detects where that is wrong. A second call appends to
  /// the first.
  void save(TensorList values) { saved_.insert(saved_.end(), values.begin(), values.end()); }
  /// Marks output i as not differentiable, such as a mask or a count. Integer and bool outputs never have a gradient.
  /// c.grad(i) in the gradient function counts only the differentiable outputs.
  void mark_non_differentiable(size_t output) { non_differentiable_.push_back(output); }

  const Tensors& saved() const { return saved_; }  ///< everything passed to save()
  /// Output indices passed to mark_non_differentiable().
  const std::vector<size_t>& non_differentiable() const { return non_differentiable_; }

 private:
  const char* const operation_;
  const Tensors& inputs_;
  std::vector<bool> needed_;
  Tensors saved_;
  std::vector<size_t> non_differentiable_;
};

/// Computes an operation's output from its inputs; nothing is recorded.
using ForwardFunction = std::function<Tensor(const Tensors& inputs)>;

/// An operation with a user-defined gradient, recorded as `name`:
///
///   Tensor y = custom("swish", {x}, [](const Tensors& in) { return in[0] * sigmoid(in[0]); },
///                     [](const BackwardContext& c) -> Tensors {
///                       const Tensor s = sigmoid(c.saved(0));
///                       return {c.grad() * (s + c.saved(1) * (1 - s))};
///                     });
///
/// `backward` returns one gradient per input; an undefined tensor means zero. c.saved(i) is input i, and
/// c.saved(inputs.size()) is the output. If `backward` uses tensor operations, the gradient can be differentiated
/// again. Check it with gradcheck() (autograd/gradcheck/gradcheck.h). `attributes` are the non-tensor arguments of the
/// call, such as `{{"beta", beta}}`; reports, graph drawings and traces show them.
///
/// For an operation that is reused and that your test suite should check, define a type instead: see the custom()
/// overload for a CustomOperation below.
Tensor custom(const std::string& name, const Tensors& inputs, const ForwardFunction& forward, BackwardFunction backward,
              AttributeList attributes = {});

/// The same, but only what forward passes to c.save() is saved for the gradient function.
Tensor custom(const std::string& name, const Tensors& inputs, const std::function<Tensor(ForwardContext&)>& forward,
              BackwardFunction backward, AttributeList attributes = {});

/// The same for several outputs. c.has_grad(i) returns whether output i received a gradient.
///
///   const Tensors parts = custom("polar", {x, y},
///       [](ForwardContext& c) -> Tensors {
///         const Tensor r = sqrt(square(c.input(0)) + square(c.input(1))), angle = atan2(c.input(1), c.input(0));
///         c.save({c.input(0), c.input(1), r});
///         return {r, angle};
///       }, ...);
Tensors custom(const std::string& name, const Tensors& inputs, const std::function<Tensors(ForwardContext&)>& forward,
               BackwardFunction backward, AttributeList attributes = {});

/// A custom operation as a type, whose members are the attributes of a call.
///
///   struct Swish {
///     static constexpr const char* name = "swish";
///     double beta = 1;
///
///     Tensor forward(ForwardContext& c) const {  // or Tensors, for several outputs
///       c.save({c.input(0)});
///       return c.input(0) * sigmoid(beta * c.input(0));
///     }
///     Tensors backward(const BackwardContext& c) const {
///       const Tensor x = c.saved(0), s = sigmoid(beta * x);
///       return {c.grad() * (s + beta * x * s * (1 - s))};
///     }
///
///     // Everything below is optional.
///     std::vector<AttributeRef> attributes() const { return {{"beta", beta}}; }
///     static OpFormula formula() { return {.forward = "y{y} = x σ({beta} x)", .backward = {"dx = dy ⊙ ..."}}; }
///     static constexpr OpTraits traits = {};
///     static std::vector<OpSample> samples() {
///       return {{"a row", {sample_normal({2, 3})}, [](const Tensors& in) { return custom(Swish{2}, in); }}};
///     }
///   };
///   Tensor swish(const Tensor& x, double beta = 1) { return custom(Swish{beta}, {x}); }
///
/// A type with samples is registered at program start, so that gradcheck_all_registered() and the tests of
/// register_gradient_tests() (registered.h and gtest.h in autograd/gradcheck/) check it.
template <class T>
concept CustomOperation = requires(const T& operation, ForwardContext& forward, const BackwardContext& backward) {
  { T::name } -> std::convertible_to<const char*>;
  requires std::same_as<decltype(operation.forward(forward)), Tensor> ||
               std::same_as<decltype(operation.forward(forward)), Tensors>;
  { operation.backward(backward) } -> std::same_as<Tensors>;
};

namespace detail {

/// The operation of a type; created at program start if the program calls it.
template <CustomOperation T>
struct OpOf {
  static OpDefinition definition() {
    OpDefinition definition{.name = T::name};
    if constexpr (requires { T::formula(); }) definition.formula = T::formula();
    if constexpr (requires { T::traits; }) definition.traits = T::traits;
    if constexpr (requires { T::samples(); }) definition.samples = [] { return T::samples(); };
    return definition;
  }
  static inline const Op op{definition(), Origin::program};
};

Tensors call_custom(const Op& op, const Tensors& inputs, const std::function<Tensors(ForwardContext&)>& forward,
                    BackwardFunction backward, AttributeList attributes);

}  // namespace detail

/// Calls an operation defined as a type and records it. Returns what its forward() returns: a Tensor or Tensors.
template <CustomOperation T>
auto custom(const T& operation, const Tensors& inputs) {
  std::vector<AttributeRef> attributes;
  if constexpr (requires { operation.attributes(); }) attributes = operation.attributes();
  const auto backward = [operation](const BackwardContext& c) { return operation.backward(c); };
  constexpr bool single = std::same_as<decltype(operation.forward(std::declval<ForwardContext&>())), Tensor>;
  const auto forward = [&operation](ForwardContext& c) -> Tensors {
    if constexpr (single)
      return {operation.forward(c)};
    else
      return operation.forward(c);
  };
  Tensors outputs = detail::call_custom(detail::OpOf<T>::op, inputs, forward, backward, AttributeList(attributes));
  if constexpr (single)
    return std::move(outputs[0]);
  else
    return outputs;
}

}  // namespace tape
