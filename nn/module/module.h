#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../../autograd/named_tensor.h"
#include "../../autograd/tape/scope.h"

namespace tape::nn {

class Buffer;
class Module;
class Parameter;
/// Whether a buffer is part of state_dict().
enum class Persistent { yes, no };

namespace detail {
template <class M, class F, class... A>
auto call_as(std::string_view name, M& module, F&& method, A&&... arguments);
}

/// Receives a module's tensor arguments, in order, before it runs. A non-empty result replaces them one by one, except
/// arguments that are Parameters.
using ForwardPreHook = std::function<Tensors(Module& module, const Tensors& inputs)>;
/// Receives the inputs and the output after a module ran; a defined result replaces the output.
using ForwardHook = std::function<Tensor(Module& module, const Tensors& inputs, const Tensor& output)>;

/// Receives the gradients of a module's tensor inputs (undefined if none is needed or none arrived) and of its output
/// after a backward pass went through the module. A non-empty result replaces the input gradients one by one; an
/// undefined entry is zero.
using BackwardHook =
    std::function<Tensors(Module& module, const Tensors& input_gradients, const Tensor& output_gradient)>;

/// Tensors by name, as saved in a model file.
using StateDict = std::map<std::string, Tensor>;

/// Options of Module::load_state_dict() and Module::load().
struct LoadOptions {
  bool strict = true;  ///< if false, names that only one side has are reported instead of an Error
};
/// Names without a counterpart after loading.
struct LoadReport {
  std::vector<std::string> missing = {},  ///< of the model's tensors
      unexpected = {};                    ///< of the given values, also of other values for a tied tensor
};

/// Base class of layers and models. Derive from it, declare members of type Parameter, Buffer, Child and Children
/// (nn/module/child.h), which register themselves with `this`, and write a forward(). A module cannot be copied or
/// moved.
class Module : NonCopyable {
 public:
  virtual ~Module() = default;

  /// Returns the parameters of this module and its children by dotted name, in the order of declaration. A tensor with
  /// several names is listed once, under the first.
  std::vector<NamedTensor> named_parameters() const;
  /// Returns the tensors of named_parameters(), in the same order.
  Tensors parameters() const;
  /// Returns the parameters() that require gradients.
  Tensors trainable_parameters() const;
  /// Returns the buffers by dotted name, in the order of declaration, persistent or not.
  std::vector<NamedTensor> named_buffers() const;
  /// Returns this module (as "") and all its descendants. A module with several names is listed once, under the first.
  std::vector<std::pair<std::string, Module*>> named_modules();
  int64_t parameter_count() const;            ///< number of values in parameters()
  int64_t trainable_parameter_count() const;  ///< number of values in trainable_parameters()

  /// Returns the parameters and persistent buffers. The tensors share the module's storage. Throws Error (config) if
  /// two have the same name, as "norm" in a part "encoder" and a part "encoder.norm".
  StateDict state_dict() const;
  /// Copies values into the module's tensors, converting between f32 and f64. A tied tensor takes its values under any
  /// of its names. If anything does not fit, throws one Error (format) that lists every missing, unexpected and
  /// misshapen entry, and different values for one tied tensor, and changes nothing. If not strict, only a wrong shape
  /// or kind of dtype is an error, and tensors without a value keep theirs.
  LoadReport load_state_dict(const StateDict& state, const LoadOptions& options = {});
  /// Saves state_dict() to a safetensors file.
  void save(const std::string& path) const;
  /// Loads a safetensors file. Throws as load_safetensors() and load_state_dict().
  LoadReport load(const std::string& path, const LoadOptions& options = {});

  /// Sets training or evaluation mode of this module and its descendants. Dropout is active in training only.
  void train(bool training = true);
  void eval() { train(false); }  ///< sets evaluation mode
  /// Sets evaluation mode, and lets linear layers keep packed copies of their weights for speed, which take up to as
  /// much memory as the weights. A weight that changes is packed again (keep_packed() in
  /// autograd/ops/product/packed_weight.h). train() frees the copies.
  void prepare_for_inference();
  /// Whether the module is in training mode; true after construction.
  bool is_training() const { return training_; }
  /// Converts every parameter and floating-point buffer in place; drops the gradients of those that change.
  void to(DType dtype);
  /// Moves every parameter and buffer to a device in place; drops the gradients of those that move. An optimizer's
  /// state follows at its next step.
  void to(Device device);
  /// Device of its first parameter, else of its first buffer, else default_device().
  Device device() const;
  /// Whether the parameters of this module and its descendants accumulate gradients.
  void requires_grad_(bool requires_grad);
  void freeze() { requires_grad_(false); }   ///< excludes the parameters from training
  void unfreeze() { requires_grad_(true); }  ///< undoes freeze()
  void zero_grad();                          ///< discards the gradients of all parameters

  /// Hooks run in the order of registration whenever the module is called, by forward() or another method
  /// (Child::call()). Hooks that see an output run if it is a tensor or an AttentionResult. Each function returns an id
  /// for remove_hook(); a hook may remove itself. A module without hooks has no overhead. Throws Error (graph) if a
  /// pre-hook returns another number of tensors than there are inputs.
  /// @{
  int64_t register_forward_pre_hook(ForwardPreHook hook);
  int64_t register_forward_hook(ForwardHook hook);
  /// @}
  /// Affects calls made from now on; the module must outlive their backward pass. An input's gradients from inside the
  /// module are summed before they are added to others, so the last bits of gradients may differ. The backward pass
  /// throws Error (graph) if a hook returns another number of gradients than there are inputs.
  int64_t register_backward_hook(BackwardHook hook);
  /// For owners that count references: what `keep` returns is held from each call with backward hooks until its
  /// backward pass, so that the module lives as long.
  void keep_for_backward(std::function<std::shared_ptr<const void>()> keep) { keep_ = std::move(keep); }
  /// Has no effect if the hook is already removed.
  void remove_hook(int64_t handle);

  /// Parts that are not declared as members, as in containers and in modules written in another language: the module
  /// owns them, and they are listed after the members. Throws Error (config) if the name is taken, empty, or begins or
  /// ends with a dot.
  /// @{
  Parameter& register_parameter(const std::string& name, Tensor value);
  Buffer& register_buffer(const std::string& name, Tensor value, Persistent saved);
  /// `child` gets this name in the module path, unless another module gave it one. Throws Error (config) too if it is
  /// null or contains this module.
  void register_module(const std::string& name, std::shared_ptr<Module> child);
  /// Throws what register_module() throws for a child that contains this module.
  void check_child(const std::string& name, Module& child) const;
  /// @}
  /// Unregisters and releases such a part; another one of its name takes its place in the order. Throws Error (config)
  /// if there is none of this name, or if it is_member().
  void unregister(std::string_view name);
  /// Whether a part of this name is declared as a member.
  bool is_member(std::string_view name) const;
  /// Returns the parts of this module itself by name, without those of its children.
  /// @{
  std::vector<std::pair<std::string, Module*>> named_children() const;
  /// Null if there is none of this name.
  Tensor* parameter(std::string_view name);
  Tensor* buffer(std::string_view name);
  /// @}
  /// Whether this module itself, not a descendant, has a hook of any kind.
  bool has_hooks() const { return !pre_hooks_.empty() || !hooks_.empty() || !backward_hooks_.empty(); }

  /// Returns the class name without namespaces: "Linear". Classes written in another language override it.
  virtual std::string type_name() const;
  /// Returns the class of a Child as it was declared, otherwise the object's own.
  const std::type_info& type() const { return class_ ? *class_ : typeid(*this); }
  /// Returns the settings that the tree prints after the class name: "512, 2048, bias=true".
  virtual std::string settings() const { return ""; }
  /// Returns the name that its owner gave it, "" for a root.
  const std::string& name() const { return name_; }
  /// Sets the name of its calls in the module path, as for the modules of a list, "layers.0", which is never called.
  void set_name(std::string name) { name_ = std::move(name); }

 protected:
  /// Called after to() changed the dtype of this module's tensors.
  virtual void dtype_changed(DType) {}
  /// Unregisters a child that its owner destroys early.
  void remove_child(const Module& child);

 private:
  friend class Parameter;
  friend class Buffer;
  friend class TensorSwap;
  template <class M>
  friend class Child;
  template <class M, class F, class... A>
  friend auto detail::call_as(std::string_view name, M& module, F&& method, A&&... arguments);
  friend class ModulePrinter;

  struct BackwardWatch;
  struct Entry {
    std::string name;
    Tensor* parameter = nullptr;
    Tensor* buffer = nullptr;
    bool persistent = true;
    Module* child = nullptr;
    std::shared_ptr<void> owned = {};  // a part that is not a member
  };

  /// Throws Error (config) if the name is empty, begins or ends with a dot, or is already taken.
  void add_entry(Entry entry);
  /// Labels the parameters with their paths below this module, for use in messages.
  void name_parameters() const;
  using Visitor = std::function<void(const std::string& name, const Entry& entry)>;
  /// Visits every entry of this module and its descendants under its first name; a shared module is visited once.
  void visit(const Visitor& see) const;
  /// The same; without `entered`, an entry is visited under each of its names.
  void visit(const std::string& prefix, const Visitor& see, std::unordered_set<const Module*>* entered) const;
  /// Returns the inputs or their replacements.
  Tensors run_pre_hooks(Tensors inputs);
  Tensor run_hooks(const Tensors& inputs, const Tensor& output);
  /// Returns the inputs passed through the node at which the module's backward ends, or null without backward hooks.
  std::shared_ptr<BackwardWatch> watch_inputs(const Tensors& inputs, Tensors& behind);
  void watch_output(const std::shared_ptr<BackwardWatch>& watch, const Tensor& output);
  Tensors run_backward_hooks(Tensors input_gradients, const Tensor& output_gradient);

  std::string name_;
  const std::type_info* class_ = nullptr;  // the class that a Child was declared with; null: this object's own
  bool training_ = true;
  std::vector<Entry> entries_;
  int64_t next_hook_ = 0;
  std::vector<std::pair<int64_t, ForwardPreHook>> pre_hooks_;
  std::vector<std::pair<int64_t, ForwardHook>> hooks_;
  std::vector<std::pair<int64_t, BackwardHook>> backward_hooks_;
  std::function<std::shared_ptr<const void>()> keep_;
};

/// Prints the tree of modules with their settings and parameter counts; summary() (nn/module/print.h) adds output
/// shapes.
std::string to_string(const Module& module);
/// Writes to_string(module).
std::ostream& operator<<(std::ostream& stream, const Module& module);

/// A tensor that is trained. Assignment is deleted because it is ambiguous: `weight.set_data(values)` gives it new
/// values, `weight.tie(other)` makes both the same tensor.
class Parameter : public Tensor {
 public:
  /// An undefined value makes an absent parameter (a Linear without bias).
  Parameter(Module* owner, std::string name, Tensor value);
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Tensor&) = delete;  // use weight.set_data(values) or weight.tie(shared)
  Parameter& operator=(const Parameter&) = delete;

  /// Makes this an alias of `shared`, a leaf that requires gradients: one set of values, one gradient. Throws Error
  /// (shape) for another shape, Error (config) if `shared` does not require gradients or is the result of an operation.
  void tie(const Tensor& shared);
};

/// A tensor that belongs to a module and is not trained.
class Buffer : public Tensor {
 public:
  /// Registers the buffer with its owner; an undefined value makes an absent one. Throws Error (config) if the name is
  /// already taken.
  Buffer(Module* owner, std::string name, Tensor value, Persistent saved = Persistent::yes);
  Buffer(const Buffer&) = delete;
  /// Replaces the tensor, which may change shape and dtype; the buffer shares the storage of `value`.
  Buffer& operator=(const Tensor& value);
  Buffer& operator=(const Buffer&) = delete;
};

}  // namespace tape::nn
