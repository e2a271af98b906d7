#include "nn/module/module.h"

#include <cxxabi.h>

#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"
#include "base/short_list.h"

namespace tape::nn {
namespace {

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

/// Gives every handle of one tensor the same new values.
void replace(Tensor& tensor, const Tensor& values) {
  if (!tensor.is(values)) tensor.set_data(values.detach());
}

/// Whether two tensors of one shape have the same values, NaN included.
bool has_same_values(const Tensor& a, const Tensor& b) {
  if (a.is(b)) return true;
  const Tensor x = a.detach().to(cpu), y = b.detach().to(cpu);
  return all(logical_or(eq(x, y), logical_and(ne(x, x), ne(y, y)))).item<bool>();
}

/// Gives every parameter and buffer the values that `converted` returns for it.
template <class F>
void replace_tensors(Module& module, const F& converted) {
  const NoGrad no_grad;
  for (NamedTensor& named : module.named_parameters()) {
    const bool packed = is_kept_packed(named.tensor);
    replace(named.tensor, converted(named.tensor));
    keep_packed(named.tensor, packed);
  }
  for (NamedTensor& named : module.named_buffers()) replace(named.tensor, converted(named.tensor));
}

}  // namespace

void Module::remove_child(const Module& child) {
  std::erase_if(entries_, [&child](const Entry& entry) { return entry.child == &child; });
}

void Module::visit(const Visitor& see) const {
  std::unordered_set<const Module*> entered{this};
  visit("", see, &entered);
}

void Module::visit(const std::string& prefix, const Visitor& see, std::unordered_set<const Module*>* entered) const {
  for (const Entry& entry : entries_) {
    if (entry.child && entered && !entered->insert(entry.child).second) continue;
    const std::string name = joined(prefix, entry.name);
    see(name, entry);
    if (entry.child) entry.child->visit(name, see, entered);
  }
}

void Module::name_parameters() const {
  for (const NamedTensor& named : named_parameters())
    // This tensor was listed before, under another module's name.
    if (leaf_name(named.tensor) == named.name) name_leaf(named.tensor, joined(name_, named.name));
}

std::vector<NamedTensor> Module::named_parameters() const {
  std::vector<NamedTensor> found;
  std::unordered_set<const TensorImpl*> seen;
  visit([&](const std::string& name, const Entry& entry) {
    if (entry.parameter && entry.parameter->defined() && seen.insert(entry.parameter->ref().get()).second)
      found.push_back({name, *entry.parameter});
  });
  return found;
}

Tensors Module::parameters() const {
  Tensors found;
  for (NamedTensor& named : named_parameters()) found.push_back(std::move(named.tensor));
  return found;
}

std::vector<NamedTensor> Module::named_buffers() const {
  std::vector<NamedTensor> found;
  visit([&](const std::string& name, const Entry& entry) {
    if (entry.buffer && entry.buffer->defined()) found.push_back({name, *entry.buffer});
  });
  return found;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> found{{"", this}};
  visit([&](const std::string& name, const Entry& entry) {
    if (entry.child) found.emplace_back(name, entry.child);
  });
  return found;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const NamedTensor& named : named_parameters()) count += named.tensor.numel();
  return count;
}

Tensors Module::trainable_parameters() const {
  Tensors all = parameters();
  std::erase_if(all, [](const Tensor& parameter) { return !parameter.requires_grad(); });
  return all;
}

int64_t Module::trainable_parameter_count() const {
  int64_t count = 0;
  for (const Tensor& parameter : trainable_parameters()) count += parameter.numel();
  return count;
}

StateDict Module::state_dict() const {
  StateDict state;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    // Detached as in PyTorch: an average of weights over many steps must not record a graph that grows with each.
    if (!state.emplace(name, tensor.detach()).second)
      raise(ErrorKind::config, "state_dict: {} has two tensors of the name \"{}\"; rename a part whose name has a dot",
            type_name(), name);
  };
  for (const NamedTensor& named : named_parameters()) add(named.name, named.tensor);
  visit([&](const std::string& name, const Entry& entry) {
    if (entry.buffer && entry.buffer->defined() && entry.persistent) add(name, *entry.buffer);
  });
  return state;
}

LoadReport Module::load_state_dict(const StateDict& state, const LoadOptions& options) {
  StateDict own = state_dict();
  // With the module's own handles, which are equal where tensors are tied.
  for (const NamedTensor& named : named_parameters()) own[named.name] = named.tensor;
  for (const NamedTensor& named : named_buffers())
    if (const auto found = own.find(named.name); found != own.end()) found->second = named.tensor;
  std::unordered_map<const TensorImpl*, std::vector<std::string>> names;  // several of tied tensors and shared modules
  for (const auto& [name, tensor] : own) names[tensor.ref().get()].push_back(name);
  const auto note_name = [&](const std::string& name, const Entry& entry) {
    const Tensor* const tensor = entry.parameter ? entry.parameter : entry.persistent ? entry.buffer : nullptr;
    if (tensor && tensor->defined() && !own.contains(name)) names.at(tensor->ref().get()).push_back(name);
  };
  visit("", note_name, nullptr);
  LoadReport report;
  std::vector<std::string> problems;
  const auto note = [&problems](std::string line) { problems.push_back(std::move(line)); };
  std::set<std::string> known;
  StateDict given;  // by the names of `own`
  for (const auto& [first, tensor] : own) {
    const std::vector<std::string>& all = names.at(tensor.ref().get());
    if (first != all.front()) continue;
    bool missing = true;
    for (const std::string& name : all) {
      const auto found = state.find(name);
      if (found == state.end()) continue;
      missing = false;
      known.insert(name);
      const Tensor& value = found->second;
      if (!(value.shape() == tensor.shape()))
        note(fmt::format("shape: \"{}\" is {}, the model needs {}", name, to_string(value.shape()),
                         to_string(tensor.shape())));
      else if (is_floating(value.dtype()) != is_floating(tensor.dtype()))
        note(fmt::format("dtype: \"{}\" is {}, the model needs {}", name, to_string(value.dtype()),
                         to_string(tensor.dtype())));
      else if (const auto [taken, is_first] = given.emplace(first, value);
               !is_first && !has_same_values(taken->second, value)) {
        report.unexpected.push_back(name);
        if (options.strict) note(fmt::format("tied: \"{}\" is \"{}\" in the model, but has other values", name, first));
      }
    }
    if (!missing) continue;
    report.missing.push_back(first);
    if (options.strict) note(fmt::format("missing: \"{}\" {}", first, to_string(tensor.shape())));
  }
  for (const auto& [name, tensor] : state) {
    if (known.contains(name)) continue;
    report.unexpected.push_back(name);
    if (options.strict) note(fmt::format("unexpected: \"{}\" {}", name, to_string(tensor.shape())));
  }
  if (!problems.empty())
    raise(ErrorKind::format, "load_state_dict: {} does not fit:\n  {}", type_name(), short_list(problems, "\n  "));
  const NoGrad no_grad;
  for (const auto& [name, value] : given) Tensor(own.at(name)).copy_(value);
  return report;
}

void Module::save(const std::string& path) const { save_safetensors(path, state_dict()); }
LoadReport Module::load(const std::string& path, const LoadOptions& options) {
  const StateDict state = load_safetensors(path).tensors;
  try {
    return load_state_dict(state, options);
  } catch (const Error& error) {
    raise(error.kind(), "{}: {}", path, error.what());
  }
}

void Module::train(bool training) {
  training_ = training;
  for (const Entry& entry : entries_) {
    if (entry.child) entry.child->train(training);
    if (entry.parameter && training) keep_packed(*entry.parameter, false);
  }
}

void Module::prepare_for_inference() {
  eval();
  for (const NamedTensor& named : named_parameters()) keep_packed(named.tensor, true);
}

void Module::to(DType dtype) {
  if (!is_floating(dtype)) raise(ErrorKind::dtype, "to: needs a floating dtype, got {}", to_string(dtype));
  replace_tensors(*this, [&](const Tensor& x) { return is_floating(x.dtype()) ? x.to(dtype) : x; });
  for (auto& [name, module] : named_modules()) module->dtype_changed(dtype);
}

void Module::to(Device device) {
  replace_tensors(*this, [&](const Tensor& x) { return x.to(device); });
}

Device Module::device() const {
  for (const NamedTensor& named : named_parameters()) return named.tensor.device();
  for (const NamedTensor& named : named_buffers()) return named.tensor.device();
  return default_device();
}

void Module::requires_grad_(bool requires_grad) {
  for (NamedTensor& named : named_parameters()) named.tensor.requires_grad_(requires_grad);
}

void Module::zero_grad() {
  for (NamedTensor& named : named_parameters()) named.tensor.zero_grad();
}

int64_t Module::register_forward_pre_hook(ForwardPreHook hook) {
  pre_hooks_.emplace_back(next_hook_, std::move(hook));
  return next_hook_++;
}

int64_t Module::register_forward_hook(ForwardHook hook) {
  hooks_.emplace_back(next_hook_, std::move(hook));
  return next_hook_++;
}

int64_t Module::register_backward_hook(BackwardHook hook) {
  backward_hooks_.emplace_back(next_hook_, std::move(hook));
  return next_hook_++;
}

void Module::remove_hook(int64_t handle) {
  std::erase_if(pre_hooks_, [&](const auto& entry) { return entry.first == handle; });
  std::erase_if(hooks_, [&](const auto& entry) { return entry.first == handle; });
  std::erase_if(backward_hooks_, [&](const auto& entry) { return entry.first == handle; });
}

Tensors Module::run_pre_hooks(Tensors inputs) {
  const auto hooks = pre_hooks_;  // a copy, because a hook may remove itself
  for (const auto& [handle, hook] : hooks) {
    Tensors replaced = hook(*this, inputs);
    if (replaced.empty()) continue;
    if (replaced.size() != inputs.size())
      raise(ErrorKind::graph, "forward pre-hook of {} \"{}\": returned {} tensors for {} inputs", type_name(), name_,
            replaced.size(), inputs.size());
    inputs = std::move(replaced);
  }
  return inputs;
}

Tensor Module::run_hooks(const Tensors& inputs, const Tensor& output) {
  const auto hooks = hooks_;
  Tensor result = output;
  for (const auto& [handle, hook] : hooks)
    if (const Tensor replaced = hook(*this, inputs, result); replaced.defined()) result = replaced;
  return result;
}

/// One call of a module with backward hooks.
struct Module::BackwardWatch {
  Module& module;
  std::vector<size_t> places;  // positions of the inputs that need gradients
  size_t inputs = 0;
  Tensor output_gradient;
  std::shared_ptr<const void> kept;
};

std::shared_ptr<Module::BackwardWatch> Module::watch_inputs(const Tensors& inputs, Tensors& behind) {
  if (backward_hooks_.empty()) return nullptr;
  static const Op& op = *new Op({.name = "module_inputs",
                                 .formula = {.forward = "y{y} = x, at the entry of a module with backward hooks",
                                             .backward = {"dx{i} = dy{i}, or its replacement by a hook"}},
                                 .traits = {.view = true}},
                                Origin::run_time);
  auto watch = std::make_shared<BackwardWatch>(BackwardWatch{*this, {}, inputs.size(), {}, keep_ ? keep_() : nullptr});
  behind = inputs;
  Tensors before, after;
  if (!needs_record(inputs)) {
    observe_use(inputs);
  } else {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].requires_grad()) continue;
      behind[i] = inputs[i].detach();
      before.push_back(inputs[i]);
      after.push_back(behind[i]);
      watch->places.push_back(i);
    }
    record_node(op, before, after, {}, [watch](const BackwardContext& c) -> Tensors {
      Tensors all(watch->inputs), passed_on;
      for (size_t i = 0; i < watch->places.size(); ++i)
        if (c.has_grad(i)) all[watch->places[i]] = c.grad(i);
      all = watch->module.run_backward_hooks(std::move(all), std::exchange(watch->output_gradient, {}));
      for (const size_t place : watch->places) passed_on.push_back(all[place]);
      return passed_on;
    });
  }
  return watch;
}

void Module::watch_output(const std::shared_ptr<BackwardWatch>& watch, const Tensor& output) {
  if (!output.requires_grad()) return;
  Tensor(output).register_hook([watch](const Tensor& gradient) {
    if (watch->places.empty())
      watch->module.run_backward_hooks(Tensors(watch->inputs), gradient);
    else
      watch->output_gradient = gradient;
    return Tensor();
  });
}

Tensors Module::run_backward_hooks(Tensors input_gradients, const Tensor& output_gradient) {
  const auto hooks = backward_hooks_;
  for (const auto& [handle, hook] : hooks) {
    Tensors replaced = hook(*this, input_gradients, output_gradient);
    if (replaced.empty()) continue;
    if (replaced.size() != input_gradients.size())
      raise(ErrorKind::graph, "backward hook of {} \"{}\": returned {} gradients for {} inputs", type_name(), name_,
            replaced.size(), input_gradients.size());
    input_gradients = std::move(replaced);
  }
  return input_gradients;
}

std::string Module::type_name() const {
  const char* const mangled = type().name();
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         std::free);
  std::string name = status == 0 ? demangled.get() : mangled;
  // Without namespaces, except inside template arguments.
  const size_t bracket = name.find('<');
  const size_t colon = name.rfind("::", bracket);
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

// The result of an operation is detached: as it is, no gradient would accumulate in it.
Parameter::Parameter(Module* owner, std::string name, Tensor value)
    : Tensor(value.defined() && !value.is_leaf() ? value.detach() : std::move(value)) {
  if (defined()) {
    requires_grad_(true);
    name_leaf(*this, name);
  }
  owner->add_entry({.name = std::move(name), .parameter = this});
}

void Parameter::tie(const Tensor& shared) {
  if (!defined() || !shared.defined()) raise(ErrorKind::config, "tie: an undefined tensor cannot be tied");
  if (!(shape() == shared.shape()))
    raise(ErrorKind::shape, "tie: the parameter is {}, the other tensor is {}", to_string(shape()),
          to_string(shared.shape()));
  if (!shared.is_leaf())
    raise(ErrorKind::config, "tie: the other tensor {} is the result of '{}', not a parameter",
          to_string(shared.shape()), shared.impl().node->name());
  if (!shared.requires_grad() && !shared.impl().frozen_leaf)
    raise(ErrorKind::config,
          "tie: the other tensor {} does not require gradients; use set_data() to give a parameter new values",
          to_string(shared.shape()));
  Tensor::operator=(shared);
}

Buffer::Buffer(Module* owner, std::string name, Tensor value, Persistent saved) : Tensor(std::move(value)) {
  owner->add_entry({.name = std::move(name), .buffer = this, .persistent = saved == Persistent::yes});
}

Buffer& Buffer::operator=(const Tensor& value) {
  Tensor::operator=(value);
  return *this;
}

}  // namespace tape::nn
