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

class Module;

namespace detail {
template <class M, class F, class... A>
auto call_as(std::string_view name, M& module, F&& method, A&&... arguments);
}

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

/// Base of every layer and model. Derive, make members of Parameter, Buffer, Child and Children (nn/module/child.h),
/// which register themselves with the module they are given, and write a forward(). A module is neither copied nor
/// moved.
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
  /// This module (under "") and all below it; one that has several names is listed once, under its first.
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

  /// Training or evaluation, for this module and all below: dropout is active in training only.
  void train(bool training = true);
  void eval() { train(false); }
  /// eval(), and from now on linear layers keep copies of their weights packed for speed, which take up to as much
  /// memory as the weights; a weight that is written to is packed again (keep_packed() in
  /// autograd/ops/product/packed_weight.h). train() frees the copies.
  void prepare_for_inference();
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
  };

  /// Throws Error (config) for an empty name, one with a dot at either end, or one taken already.
  void add_entry(Entry entry);
  /// Lets messages call the parameters by their paths, below this module's own name.
  void name_parameters() const;
  using See = std::function<void(const std::string& name, const Entry& entry)>;
  /// Every entry of this module and all below, under its first name: a module in several places is entered once.
  void visit(const See& see) const;
  /// The same; without `entered`, under all of its names.
  void visit(const std::string& prefix, const See& see, std::unordered_set<const Module*>* entered) const;
  /// The inputs, or what stands in their place.
  Tensors run_pre_hooks(Tensors inputs);
  Tensor run_hooks(const Tensors& inputs, const Tensor& output);
  /// The inputs behind a node that the module's backward ends at; null where there are no backward hooks.
  std::shared_ptr<BackwardWatch> watch_inputs(const Tensors& inputs, Tensors& behind);
  void watch_output(const std::shared_ptr<BackwardWatch>& watch, const Tensor& output);
  Tensors run_backward_hooks(Tensors input_gradients, const Tensor& output_gradient);

  std::string name_;
  const std::type_info* class_ = nullptr;  // that a Child was asked for; null: of this object
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

/// A tensor that is trained. It has no assignment, which could mean two things: `weight.set_data(values)` gives it
/// other values, `weight.tie(other)` makes both one tensor.
class Parameter : public Tensor {
 public:
  /// An undefined value makes a parameter that does not exist (a Linear without bias).
  Parameter(Module* owner, std::string name, Tensor value);
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Tensor&) = delete;  // write weight.set_data(values) or weight.tie(shared)
  Parameter& operator=(const Parameter&) = delete;

  /// Makes this name another one of `shared`, a leaf that is trained: one set of values, one gradient. Error (shape)
  /// for another shape, (config) for a tensor that does not require gradients or is the result of an operation.
  void tie(const Tensor& shared);
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

}  // namespace tape::nn
