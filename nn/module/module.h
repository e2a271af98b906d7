#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../autograd/named_tensor.h"
#include "../../autograd/tape/scope.h"

namespace tape::nn {

class Module;

/// Sees a module's tensor arguments, in their order, before it runs. A result that is not empty takes their place, one
/// each; a Parameter that was given stays itself.
using ForwardPreHook = std::function<Tensors(Module& module, const Tensors& inputs)>;
/// Sees the inputs and the output after a module ran; a defined result takes the output's place.
using ForwardHook = std::function<Tensor(Module& module, const Tensors& inputs, const Tensor& output)>;

/// Sees the gradients of a module's tensor inputs (undefined where none is needed or none arrived) and of its output
/// when a backward has passed through the module. A result that is not empty takes the place of the input gradients,
/// one each; an undefined one is zero.
using BackwardHook =
    std::function<Tensors(Module& module, const Tensors& input_gradients, const Tensor& output_gradient)>;

/// Values by name, as saved in a model file.
using StateDict = std::map<std::string, Tensor>;

struct LoadOptions {
  bool strict = true;  ///< false: names that only one side has are reported, and no Error
};
/// Names that only one side has: of the model's tensors, and of the values given.
struct LoadReport {
  std::vector<std::string> missing = {}, unexpected = {};
};

/// Base of every layer and model. Derive, make members of Parameter, Buffer, Child and Children - they register
/// themselves with the module they are given - and write a forward(). A module stays where it was made: it is neither
/// copied nor moved.
class Module : NonCopyable {
 public:
  virtual ~Module() = default;

  /// Parameters of this module and its children by dotted name, in the order of declaration; a tensor that several
  /// names share is listed once, under its first.
  std::vector<NamedTensor> named_parameters() const;
  Tensors parameters() const;
  /// Those of parameters() that require gradients.
  Tensors trainable_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  /// This module (under "") and all below it.
  std::vector<std::pair<std::string, Module*>> named_modules();
  int64_t parameter_count() const;
  int64_t trainable_parameter_count() const;

  /// Parameters and the buffers that are saved, as handles of the module's own tensors.
  StateDict state_dict() const;
  /// Copies values into the module's tensors, converting f32 and f64. All or nothing: one Error (format) lists every
  /// missing, unexpected and misshapen entry, and then nothing was changed. Not strict, it lists those of another shape
  /// or kind of dtype alone, and tensors without a value stay as they are.
  LoadReport load_state_dict(const StateDict& state, const LoadOptions& options = {});
  /// state_dict() in a safetensors file, and back.
  void save(const std::string& path) const;
  LoadReport load(const std::string& path, const LoadOptions& options = {});

  /// Training or evaluation, for this module and all below: dropout is active in training only, and in evaluation
  /// linear() keeps the weights packed (keep_packed() in autograd/ops/product/packed_weight.h).
  void train(bool training = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }
  /// Converts every parameter and floating buffer in place; gradients are dropped.
  void to(DType dtype);
  /// Whether gradients are gathered in this module's parameters and all below.
  void requires_grad_(bool requires_grad);
  void freeze() { requires_grad_(false); }
  void unfreeze() { requires_grad_(true); }
  void zero_grad();

  /// Hooks are called in the order they were registered, whenever the module is called: by forward() or another of its
  /// methods (Child::call()); those that see an output where it is a tensor or an AttentionResult. Each returns a
  /// number for remove_hook(), and may remove itself. A module without hooks pays nothing. Error (graph) where a
  /// pre-hook returns another number of tensors than there are inputs.
  int64_t register_forward_pre_hook(ForwardPreHook hook);
  int64_t register_forward_hook(ForwardHook hook);
  /// For calls made from now on; the module must live until their backward. An input's gradients inside the module are
  /// summed before they join others, so the last bits of gradients may differ. Error (graph) in the backward where a
  /// hook returns another number of gradients than there are inputs.
  int64_t register_backward_hook(BackwardHook hook);
  /// Does nothing for a hook that is gone already.
  void remove_hook(int64_t handle);
  bool has_hooks() const { return !pre_hooks_.empty() || !hooks_.empty() || !backward_hooks_.empty(); }

  /// The class without its namespaces: "Linear".
  std::string type_name() const;
  /// What the tree shows in parentheses behind the class: "512, 2048, bias=true".
  virtual std::string settings() const { return ""; }
  /// The name its owner gave it, "" for a root.
  const std::string& name() const { return name_; }

 protected:
  /// Called after to() changed the dtype of this module's tensors.
  virtual void dtype_changed(DType) {}
  /// For an owner that lets go a child of its own before it ends itself.
  void remove_child(const Module& child);

 private:
  friend class Parameter;
  friend class Buffer;
  friend class TensorSwap;
  template <class M>
  friend class Child;
  template <class M, class F>
  friend decltype(auto) run(M& module, F&& body);
  template <class M, class F, class... A>
  friend auto call_method(M& module, F&& method, A&&... arguments);
  friend class ModulePrinter;

  struct BackwardWatch;
  struct Entry {
    std::string name;
    Tensor* parameter = nullptr;
    Tensor* buffer = nullptr;
    bool persistent = true;
    Module* child = nullptr;
  };

  /// Throws Error (config) for an empty name, one with a dot at either end, or one taken already.
  void add_entry(Entry entry);
  void visit(const std::string& prefix, const std::function<void(const std::string&, const Entry&)>& see) const;
  /// The inputs, or what stands in their place.
  Tensors run_pre_hooks(Tensors inputs);
  Tensor run_hooks(const Tensors& inputs, const Tensor& output);
  /// The inputs behind a node that the module's backward ends at; null where there are no backward hooks.
  std::shared_ptr<BackwardWatch> watch_inputs(const Tensors& inputs, Tensors& behind);
  void watch_output(const std::shared_ptr<BackwardWatch>& watch, const Tensor& output);
  Tensors run_backward_hooks(Tensors input_gradients, const Tensor& output_gradient);

  std::string name_;
  bool training_ = true;
  std::vector<Entry> entries_;
  int64_t next_hook_ = 0;
  std::vector<std::pair<int64_t, ForwardPreHook>> pre_hooks_;
  std::vector<std::pair<int64_t, ForwardHook>> hooks_;
  std::vector<std::pair<int64_t, BackwardHook>> backward_hooks_;
};

/// The tree of modules with their settings and parameter counts; summary() of nn/module/print.h adds output shapes.
std::string to_string(const Module& module);
std::ostream& operator<<(std::ostream& stream, const Module& module);

/// A tensor that is trained. Assigning a Tensor ties it: both names then mean one tensor.
class Parameter : public Tensor {
 public:
  /// An undefined value makes a parameter that is not there (a Linear without bias).
  Parameter(Module* owner, std::string name, Tensor value);
  Parameter(const Parameter&) = delete;
  /// Throws Error (shape) where the shapes differ.
  Parameter& operator=(const Tensor& shared);
  Parameter& operator=(const Parameter& shared) { return *this = static_cast<const Tensor&>(shared); }
};

/// Whether a buffer is part of state_dict().
enum class Saved { yes, no };

/// A tensor that belongs to a module but is not trained.
class Buffer : public Tensor {
 public:
  Buffer(Module* owner, std::string name, Tensor value, Saved saved = Saved::yes);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Tensor& value);
  Buffer& operator=(const Buffer&) = delete;
};

/// Runs `body(module)` as part of the module: under its name in the module path, which is also added to an Error that
/// passes through.
template <class M, class F>
decltype(auto) run(M& module, F&& body) {
  const ModuleScope scope(static_cast<const Module&>(module).name_);
  try {
    return std::forward<F>(body)(module);
  } catch (Error& error) {
    error.set_module_path(ModuleScope::path());
    throw;
  }
}

namespace detail {

/// Appends an argument that is a tensor.
template <class A>
void keep_tensor(Tensors& to, const A& argument) {
  if constexpr (std::convertible_to<const A&, const Tensor&>) to.push_back(argument);
}

/// The tensors among the arguments of a call, which may have none.
template <class... A>
Tensors tensors_among(const A&... arguments) {
  Tensors tensors;
  (keep_tensor(tensors, arguments), ...);
  return tensors;
}

/// The tensors that stand for those of a call, given out one by one.
struct Behind {
  Tensors tensors;
  size_t next = 0;

  /// An argument, or the tensor that stands for it: one for each tensor argument, in their order.
  template <class A>
  A&& take(std::remove_reference_t<A>& argument) {
    if constexpr (std::convertible_to<const std::remove_cvref_t<A>&, const Tensor&>) {
      Tensor& tensor = tensors[next++];
      // A Parameter is a class of its own, and stays.
      if constexpr (std::same_as<std::remove_cvref_t<A>, Tensor>) return static_cast<A&&>(tensor);
    }
    return static_cast<A&&>(argument);
  }
};

/// The tensor in what a method gives that hooks see and may replace, or null.
inline Tensor* seen_output(Tensor& result) { return &result; }
template <class Result>
Tensor* seen_output(Result& result) {
  if constexpr (requires {
                  { result.output } -> std::convertible_to<const Tensor&>;
                })
    return &result.output;
  else
    return nullptr;
}

}  // namespace detail

/// Calls a method of a module, or a function of it and the arguments: the one place where a module runs, with its path,
/// hooks and error context.
template <class M, class F, class... A>
auto call_method(M& module, F&& method, A&&... arguments) {
  return run(module, [&](M& self) {
    Module& base = self;
    if (!base.has_hooks()) return std::invoke(method, self, std::forward<A>(arguments)...);
    const Tensors inputs = base.run_pre_hooks(detail::tensors_among(arguments...));
    detail::Behind behind{inputs};
    const auto watch = base.watch_inputs(inputs, behind.tensors);
    // In braces, so that they are taken in their order.
    std::tuple<A&&...> given{behind.template take<A>(arguments)...};
    auto result =
        std::apply([&](A&&... a) { return std::invoke(method, self, std::forward<A>(a)...); }, std::move(given));
    if (Tensor* const output = detail::seen_output(result)) {
      *output = base.run_hooks(inputs, *output);
      if (watch) base.watch_output(watch, *output);
    }
    return result;
  });
}

/// Calls module.forward(arguments...).
template <class M, class... A>
auto call(M& module, A&&... arguments) {
  return call_method(
      module, [](M& self, auto&&... a) { return self.forward(std::forward<decltype(a)>(a)...); },
      std::forward<A>(arguments)...);
}

/// A Module that can be called by itself: layer(x). Inside a Child every module can.
template <class Derived>
class Layer : public Module {
 public:
  template <class... A>
    requires requires(Derived& self, A&&... arguments) { self.forward(std::forward<A>(arguments)...); }
  auto operator()(A&&... arguments) {
    return call(static_cast<Derived&>(*this), std::forward<A>(arguments)...);
  }
};

/// A module inside a module, made in place: `nn::Child<nn::Linear> value{this, "value", 16, 16};`
template <class M>
class Child : NonCopyable {
 public:
  template <class... A>
  Child(Module* owner, std::string name, A&&... arguments) : module_(std::forward<A>(arguments)...) {
    static_cast<Module&>(module_).name_ = name;
    owner->add_entry({.name = std::move(name), .child = &module_});
  }

  template <class... A>
  auto operator()(A&&... arguments) {
    return nn::call(module_, std::forward<A>(arguments)...);
  }
  /// Another method in forward()'s place, with the module's hooks:
  /// attention.call(&MultiHeadAttention::with_weights, x, x, x, mask)
  template <class F, class... A>
  auto call(F&& method, A&&... arguments) {
    return call_method(module_, std::forward<F>(method), std::forward<A>(arguments)...);
  }
  /// Anything else as part of the module, which hooks do not see: attention.run([&](auto& a) { return a.project(x); })
  template <class F>
  decltype(auto) run(F&& body) {
    return nn::run(module_, std::forward<F>(body));
  }

  M& operator*() { return module_; }
  const M& operator*() const { return module_; }
  M* operator->() { return &module_; }
  const M* operator->() const { return &module_; }

 private:
  M module_;
};

/// A list of modules of one class, made in place: children "layers.0", "layers.1", ...
template <class M>
class Children {
 public:
  Children(Module* owner, std::string name) : owner_(owner), name_(std::move(name)) {}
  /// `count` modules, each made from the same arguments.
  template <class... A>
  Children(Module* owner, std::string name, int64_t count, const A&... arguments) : Children(owner, std::move(name)) {
    if (count < 0) raise(ErrorKind::config, "{}: the number of modules must not be negative, got {}", name_, count);
    for (int64_t i = 0; i < count; ++i) emplace_back(arguments...);
  }

  template <class... A>
  Child<M>& emplace_back(A&&... arguments) {
    std::string name = name_ + "." + std::to_string(children_.size());
    children_.push_back(std::make_unique<Child<M>>(owner_, std::move(name), std::forward<A>(arguments)...));
    return *children_.back();
  }
  int64_t size() const { return static_cast<int64_t>(children_.size()); }
  /// Error (index) outside [0, size()).
  Child<M>& operator[](int64_t i) { return *children_[place(i)]; }
  const Child<M>& operator[](int64_t i) const { return *children_[place(i)]; }

 private:
  size_t place(int64_t i) const {
    if (i < 0 || i >= size()) raise(ErrorKind::index, "{}: module {} is outside [0, {})", name_, i, size());
    return static_cast<size_t>(i);
  }

  Module* owner_;
  std::string name_;
  std::vector<std::unique_ptr<Child<M>>> children_;
};

}  // namespace tape::nn
