#include <fmt/format.h>

#include "bindings.h"

#include <nanobind/trampoline.h>

namespace tape::python {
namespace {

using nb::arg;
using nn::Module;

/// A module written in Python.
class PythonModule : public Module {
 public:
  NB_TRAMPOLINE(Module, 2);

  std::string type_name() const override {
    const nb::gil_scoped_acquire gil;
    return nb::cast<std::string>(nb_trampoline.base().type().attr("__name__"));
  }
  std::string settings() const override { NB_OVERRIDE_NAME("settings", settings); }
};

/// nn.Parameter(values): a leaf that a module registers when it is assigned to an attribute.
struct NewParameter : Tensor {
  using Tensor::Tensor;
};

/// A parameter of a module, of the same class, so that an assignment to an attribute of another module shares it.
NewParameter parameter_object(const Tensor& parameter) { return NewParameter(parameter.ref()); }

std::vector<NewParameter> parameter_objects(const Tensors& parameters) {
  std::vector<NewParameter> objects;
  for (const Tensor& parameter : parameters) objects.push_back(parameter_object(parameter));
  return objects;
}

struct CallResult {
  nb::object value;
  Tensor output;  // that hooks may replace
};

void collect_tensors(nb::handle value, Tensors& tensors) {
  if (nb::isinstance<Tensor>(value)) tensors.push_back(nb::cast<Tensor>(value));
}

nb::object replaced(nb::handle value, const Tensors& tensors, size_t& next) {
  if (!nb::isinstance<Tensor>(value)) return nb::borrow(value);
  const Tensor& tensor = tensors[next++];
  return nb::cast<Tensor>(value).is(tensor) ? nb::borrow(value) : nb::cast(tensor);
}

/// Holds the object of Python that a module is, if it is one.
std::shared_ptr<const void> held(Module* module) {
  const nb::gil_scoped_acquire gil;
  nb::object object = nb::find(module);
  if (!object.is_valid()) return nullptr;
  return {new nb::object(std::move(object)), [](const void* kept) {
            const nb::gil_scoped_acquire again;
            delete static_cast<const nb::object*>(kept);
          }};
}

/// forward(*args, **kwargs) with the module's path and hooks; the tensors among the arguments are what hooks see.
nb::object call_with_hooks(nb::handle self, Module& module, const nb::args& args, const nb::kwargs& kwargs) {
  Tensors tensors;
  for (nb::handle value : args) collect_tensors(value, tensors);
  for (auto [key, value] : kwargs) collect_tensors(value, tensors);
  const auto forward = [&](Module&, const Tensors& inputs) -> CallResult {
    size_t next = 0;
    nb::list positional;
    nb::dict named;
    for (nb::handle value : args) positional.append(replaced(value, inputs, next));
    for (auto [key, value] : kwargs) named[key] = replaced(value, inputs, next);
    nb::object value = self.attr("forward")(*positional, **named);
    if (nb::isinstance<Tensor>(value)) return {value, nb::cast<Tensor>(value)};
    if (nb::isinstance<AttentionResult>(value)) return {value, nb::cast<AttentionResult&>(value).output};
    return {value, {}};
  };
  CallResult result = nn::detail::call_as(module.name(), module, forward, tensors);
  if (nb::isinstance<Tensor>(result.value)) return nb::cast(result.output);
  if (nb::isinstance<AttentionResult>(result.value)) nb::cast<AttentionResult&>(result.value).output = result.output;
  return result.value;
}

void check_initialized(nb::handle self, const char* before) {
  if (!nb::inst_ready(self))
    raise(ErrorKind::config, "{}: __init__() must call super().__init__() {}", nb::type_name(self.type()).c_str(),
          before);
}

nb::object call(nb::handle self, const nb::args& args, const nb::kwargs& kwargs) {
  check_initialized(self, "before the module is called");
  auto& module = nb::cast<Module&>(self);
  try {
    if (module.has_hooks()) return call_with_hooks(self, module, args, kwargs);
    const ModuleScope scope(module.name());
    try {
      return self.attr("forward")(*args, **kwargs);
    } catch (nb::python_error& error) {
      add_module_path(error);
      throw;
    }
  } catch (Error& error) {
    const ModuleScope scope(module.name());
    error.set_module_path(ModuleScope::path());
    throw;
  }
}

// --- attributes ---

/// A child as an object of Python, which keeps its parent alive, since the parent owns it. A child that was assigned in
/// Python is an object already, which its parent keeps alive.
nb::object child_object(nb::handle parent, Module* child) {
  if (nb::object present = nb::find(child)) return present;
  nb::object object = nb::cast(child, nb::rv_policy::reference);
  nb::keep_alive_obj(object, parent);
  return object;
}

/// A child, or a list of the children "layers.0", "layers.1", ...; null if there is none.
nb::object child_of(nb::handle self, const Module& module, const std::string& name) {
  nb::list children;
  for (const auto& [child_name, child] : module.named_children()) {
    if (child_name == name) return child_object(self, child);
    if (child_name.starts_with(name + ".")) children.append(child_object(self, child));
  }
  return nb::len(children) > 0 ? nb::object(std::move(children)) : nb::object();
}

/// Parameters, buffers and children of layers written in C++; Python's own attributes are found before.
nb::object get_attribute(nb::handle self, const std::string& name) {
  check_initialized(self, "before it reads attributes");
  auto& module = nb::cast<Module&>(self);
  if (const Tensor* const parameter = module.parameter(name))
    return parameter->defined() ? nb::cast(parameter_object(*parameter)) : nb::none();
  if (const Tensor* const buffer = module.buffer(name)) return buffer->defined() ? nb::cast(*buffer) : nb::none();
  if (nb::object child = child_of(self, module, name)) return child;
  if (nb::hasattr(self.type(), name.c_str())) {  // a property whose function failed: its own error
    nb::object value = nb::steal(PyObject_GenericGetAttr(self.ptr(), nb::str(name.c_str()).ptr()));
    if (!value.is_valid()) throw nb::python_error();
    return value;
  }
  throw nb::attribute_error(
      fmt::format("'{}' object has no attribute '{}'", nb::cast<std::string>(self.type().attr("__name__")), name)
          .c_str());
}

/// Pairs (name, module) with each module as an object of Python.
nb::list named_objects(nb::handle self, const std::vector<std::pair<std::string, Module*>>& modules) {
  nb::list pairs;
  for (const auto& [name, module] : modules) pairs.append(nb::make_tuple(name, child_object(self, module)));
  return pairs;
}

nb::list objects(nb::handle self, const std::vector<std::pair<std::string, Module*>>& modules) {
  nb::list found;
  for (const auto& [name, module] : modules) found.append(child_object(self, module));
  return found;
}

void apply_to(nb::handle self, const nb::callable& function) {
  for (nb::handle child : objects(self, nb::cast<Module&>(self).named_children())) apply_to(child, function);
  function(self);
}

bool is_registered(Module& module, const std::string& name) {
  if (module.parameter(name) || module.buffer(name)) return true;
  for (const auto& [child_name, child] : module.named_children())
    if (child_name == name) return true;
  return false;
}

/// Throws what registering a parameter or module would, so that an earlier one of this name remains.
void check_part(const Module& module, const std::string& name, nb::handle value) {
  if (nb::isinstance<Module>(value)) module.check_child(name, nb::cast<Module&>(value));
  if (nb::isinstance<NewParameter>(value))
    if (const DType dtype = nb::cast<Tensor&>(value).dtype(); !is_floating(dtype))
      raise(ErrorKind::dtype, "module: the parameter \"{}\" is {}, which cannot have gradients; use register_buffer()",
            name, to_string(dtype));
}

/// Sets a property of the class, which Python would find before a part of its name.
bool assign_property(nb::handle self, nb::str key, nb::handle value) {
  const nb::object property = nb::getattr(self.type(), key, nb::none());
  if (!PyObject_TypeCheck(property.ptr(), &PyProperty_Type)) return false;
  if (property.attr("fset").is_none())
    raise(ErrorKind::config, "{}: \"{}\" is a property that cannot be assigned; {}", nb::type_name(self.type()).c_str(),
          key.c_str(),
          std::string_view(key.c_str()) == "training" ? "call train() or eval()" : "give the attribute another name");
  if (PyObject_GenericSetAttr(self.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
  return true;
}

/// Registers parameters and modules under the attribute's name; other values are plain attributes. Parameters and
/// buffers are found in the module only, where a check may replace them for a while.
void set_attribute(nb::handle self, nb::str key, nb::handle value) {
  check_initialized(self, "before it assigns attributes");
  if (nb::isinstance<Module>(value)) check_initialized(value, "before the module becomes a part");
  if (assign_property(self, key, value)) return;
  auto& module = nb::cast<Module&>(self);
  const std::string name = key.c_str();
  const bool parameter = nb::isinstance<NewParameter>(value), child = nb::isinstance<Module>(value);
  if (!parameter && nb::isinstance<Tensor>(value)) {
    // As in PyTorch, a buffer takes another tensor; a parameter does not become one silently.
    if (Tensor* const own = module.parameter(name)) {
      const auto& shared = nb::cast<Tensor&>(value);
      if (shared.is_leaf() && shared.requires_grad()) return static_cast<nn::Parameter*>(own)->tie(shared);
      raise(
          ErrorKind::config,
          "module: \"{}\" is a parameter; assign an nn.Parameter, another module's parameter to share it, or write its "
          "values with set_data()",
          name);
    }
    if (Tensor* const buffer = module.buffer(name)) {
      *buffer = nb::cast<Tensor>(value);
      return;
    }
  }
  if (const Tensor* const own = module.parameter(name); parameter && own && own->is(nb::cast<Tensor&>(value))) return;
  check_part(module, name, value);
  if (Tensor* const own = module.parameter(name); parameter && own && module.is_member(name)) {
    auto& given = nb::cast<Tensor&>(value);
    const bool trained = given.requires_grad();
    given.requires_grad_(true);  // what is frozen before can be shared only as a leaf
    static_cast<nn::Parameter*>(own)->tie(given);
    given.requires_grad_(trained);
    return;
  }
  if (is_registered(module, name)) module.unregister(name);
  if (parameter) {
    const auto& given = nb::cast<Tensor&>(value);
    const bool needs_gradient = given.requires_grad();
    module.register_parameter(name, given);
    if (!needs_gradient) module.parameter(name)->requires_grad_(false);
  }
  if (child) module.register_module(name, nb::cast<std::shared_ptr<Module>>(value));
  nb::handle stored = value;
  if (parameter) {
    if (!nb::cast<nb::dict>(self.attr("__dict__")).contains(key)) return;
    stored = nb::handle();  // an earlier value of another kind would be found first
  }
  if (PyObject_GenericSetAttr(self.ptr(), key.ptr(), stored.ptr()) != 0) throw nb::python_error();
  if (child && nb::hasattr(value, "_name_modules")) value.attr("_name_modules")(name);
}

void delete_attribute(nb::handle self, nb::str key) {
  auto& module = nb::cast<Module&>(self);
  const std::string name = key.c_str();
  const bool registered = is_registered(module, name);
  if (registered) module.unregister(name);
  if (PyObject_GenericSetAttr(self.ptr(), key.ptr(), nullptr) != 0) {
    if (!registered) throw nb::python_error();
    PyErr_Clear();
  }
}

using ModuleClass = nb::class_<Module, PythonModule>;

/// A method as a Python function that returns the module's own object.
template <class... Args, class Result>
auto returning_self(Result (Module::*method)(Args...)) {
  return [method](nb::handle self, Args... args) {
    (nb::cast<Module&>(self).*method)(args...);
    return nb::borrow(self);
  };
}

void bind_parts(ModuleClass& type) {
  type.def(
      "register_buffer",
      [](nb::handle self, const std::string& name, const std::optional<Tensor>& value, bool persistent) {
        nb::cast<Module&>(self).register_buffer(name, value.value_or(Tensor()),
                                                persistent ? nn::Persistent::yes : nn::Persistent::no);
      },
      arg("name"), arg("value").none(), nb::kw_only(), arg("persistent") = true,
      "Adds a tensor that is not trained; part of state_dict() if persistent.");
  type.def(
      "register_parameter",
      [](nb::handle self, const nb::str& name, const std::optional<NewParameter>& parameter) {
        nb::setattr(self, name, parameter ? nb::cast(*parameter) : nb::none());
      },
      arg("name"), arg("parameter").none(), "Adds a parameter, or an attribute that is None.");
  const auto add = [](nb::handle self, const nb::str& name, nb::handle child) {
    if (!nb::isinstance<Module>(child))
      throw nb::type_error(
          fmt::format("add_module: \"{}\" must be a module, got {}", name.c_str(), nb::type_name(child.type()).c_str())
              .c_str());
    nb::setattr(self, name, child);
  };
  type.def("add_module", add, arg("name"), arg("module").none(),
           "Adds a child under a name that need not be an identifier, such as '0'.");
  type.def("register_module", add, arg("name"), arg("module").none(), "Same as add_module().");
  type.def(
      "modules", [](nb::handle self) { return objects(self, nb::cast<Module&>(self).named_modules()); },
      nb::sig("def modules(self) -> list[Module]"), "This module and all its descendants.");
  type.def(
      "children", [](nb::handle self) { return objects(self, nb::cast<Module&>(self).named_children()); },
      nb::sig("def children(self) -> list[Module]"), "Its own children.");
  type.def(
      "buffers",
      [](const Module& self) {
        Tensors buffers;
        for (const NamedTensor& found : self.named_buffers()) buffers.push_back(found.tensor);
        return buffers;
      },
      "The buffers, in the order of named_buffers().");
  type.def(
      "apply",
      [](nb::handle self, const nb::callable& function) {
        apply_to(self, function);
        return nb::borrow(self);
      },
      nb::sig("def apply(self, function: collections.abc.Callable[[Module], object]) -> typing.Any"), arg("function"),
      "Calls function(module) for all descendants and then for this module, which it returns.");
}

void bind_state(ModuleClass& type) {
  type.def("state_dict", &Module::state_dict,
           "Parameters and persistent buffers by name; they share the module's memory.");
  type.def(
      "load_state_dict",
      [](Module& self, const nn::StateDict& state, bool strict) {
        const nn::LoadReport report = self.load_state_dict(state, {.strict = strict});
        return std::pair(report.missing, report.unexpected);
      },
      arg("state"), nb::kw_only(), arg("strict") = true,
      "Copies values into the module's tensors; returns (missing, unexpected) names. If anything does not fit, one "
      "Error (format) lists\n"
      "every missing, unexpected and misshapen entry, and nothing is changed.");
  type.def("save", &Module::save, arg("path"), release, "Saves state_dict() to a safetensors file.");
  type.def(
      "load",
      [](Module& self, const std::string& path, bool strict) {
        const nn::LoadReport report = self.load(path, {.strict = strict});
        return std::pair(report.missing, report.unexpected);
      },
      arg("path"), nb::kw_only(), arg("strict") = true, "Loads a safetensors file; see load_state_dict().");
}

void bind_hooks(ModuleClass& type) {
  type.def(
      "register_forward_hook",
      [](Module& self, nb::callable hook) {
        const auto kept =
            nb::cast<std::function<std::optional<Tensor>(nb::object, const Tensors&, const Tensor&)>>(hook);
        return self.register_forward_hook([kept](Module& module, const Tensors& inputs, const Tensor& output) {
          const nb::gil_scoped_acquire gil;
          return call_hook(kept, "a tensor", nb::cast(&module, nb::rv_policy::reference), inputs, output)
              .value_or(Tensor());
        });
      },
      arg("hook"),
      "Calls hook(module, inputs, output) after the module ran; a tensor that it returns replaces the output. Returns "
      "an id.");
  type.def(
      "register_forward_pre_hook",
      [](Module& self, nb::callable hook) {
        using Returned = std::optional<std::variant<Tensor, Tensors>>;
        const auto kept = nb::cast<std::function<Returned(nb::object, const Tensors&)>>(hook);
        return self.register_forward_pre_hook([kept](Module& module, const Tensors& inputs) {
          const nb::gil_scoped_acquire gil;
          const auto given =
              call_hook(kept, "a tensor, a list of tensors", nb::cast(&module, nb::rv_policy::reference), inputs);
          if (!given) return Tensors();
          const auto* const tensor = std::get_if<Tensor>(&*given);
          return tensor ? Tensors{*tensor} : std::get<Tensors>(*given);
        });
      },
      arg("hook"),
      "Calls hook(module, inputs) before the module runs; a tensor or a list of tensors that it returns replaces the "
      "inputs. Returns an id.");
  type.def(
      "register_backward_hook",
      [](Module& self, nb::callable hook) {
        using Gradients = std::vector<std::optional<Tensor>>;
        using Returned = std::optional<std::variant<Tensor, Gradients>>;
        const auto kept = nb::cast<std::function<Returned(nb::object, const Gradients&, const Tensor&)>>(hook);
        self.keep_for_backward([module = &self] { return held(module); });
        return self.register_backward_hook([kept](Module& module, const Tensors& inputs, const Tensor& output) {
          const nb::gil_scoped_acquire gil;
          Gradients given;
          for (const Tensor& gradient : inputs)
            given.push_back(gradient.defined() ? std::optional(gradient) : std::nullopt);
          const auto replaced = call_hook(kept, "a tensor, a list of gradients",
                                          nb::cast(&module, nb::rv_policy::reference), given, output);
          if (!replaced) return Tensors();
          if (const auto* const tensor = std::get_if<Tensor>(&*replaced)) return Tensors{*tensor};
          Tensors result;
          for (const auto& gradient : std::get<Gradients>(*replaced)) result.push_back(gradient.value_or(Tensor()));
          return result;
        });
      },
      arg("hook"),
      "Calls hook(module, input_gradients, output_gradient) after a backward pass through the module. Returns an id.");
  type.def("remove_hook", &Module::remove_hook, arg("handle"), "Does nothing if the hook is already removed.");
}

}  // namespace

void bind_module(nb::module_& m) {
  nb::class_<NewParameter, Tensor>(m, "Parameter",
                                   "A tensor that a module trains: assign it to an attribute of the module.")
      .def(
          "__init__",
          [](NewParameter* self, const Tensor& values, bool requires_grad) {
            new (self) NewParameter(values.detach().ref());
            if (requires_grad) self->requires_grad_(true);
          },
          arg("values"), nb::kw_only(), arg("requires_grad") = true)
      .def("__reduce__",
           [](const NewParameter& self) {
             return nb::make_tuple(nb::module_::import_("tapeformer._pickling").attr("parameter"),
                                   nb::make_tuple(self.detach(), self.requires_grad()));
           })
      .def("__copy__",
           [](const NewParameter& self) {
             NewParameter copy = parameter_object(self.detach());
             copy.requires_grad_(self.requires_grad());
             return copy;
           })
      .def("__deepcopy__", [](const NewParameter& self, nb::handle) {
        NewParameter copy = parameter_object(self.detach().clone());
        copy.requires_grad_(self.requires_grad());
        return copy;
      });
  ModuleClass type(m, "Module", nb::dynamic_attr(),
                   "Base class of layers and models. In a class of your own, assign Parameters and modules to "
                   "attributes in __init__ (after\n"
                   "super().__init__()) and write forward(); calling the module runs it with its name in errors and "
                   "reports, and its hooks.");
  type.def(nb::init<>());
  type.def("__call__", &call, nb::sig("def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"),
           "forward() with the module's path, hooks and error context.");
  type.def("__getattr__", &get_attribute, arg("name"), nb::sig("def __getattr__(self, name: str) -> typing.Any"));
  type.def("__setattr__", &set_attribute, arg("name"), arg("value").none());
  type.def("__delattr__", &delete_attribute, arg("name"));
  type.def("__repr__", [](const Module& self) { return nn::to_string(self); });
  type.def("__reduce__", [](const Module& self) {
    raise(ErrorKind::config,
          "{}: a module is not copied or pickled; construct another one and call its "
          "load_state_dict(model.state_dict()), or save() and load()",
          self.type_name());
  });
  type.def(
      "named_parameters",
      [](const Module& self) {
        std::vector<std::pair<std::string, NewParameter>> named;
        for (const NamedTensor& found : self.named_parameters())
          named.emplace_back(found.name, parameter_object(found.tensor));
        return named;
      },
      "Pairs (name, parameter) of the module and its children.");
  type.def(
      "parameters", [](const Module& self) { return parameter_objects(self.parameters()); },
      "The parameters, in the order of named_parameters().");
  type.def(
      "trainable_parameters", [](const Module& self) { return parameter_objects(self.trainable_parameters()); },
      "The parameters that require gradients.");
  type.def("named_buffers", &Module::named_buffers, "Pairs (name, buffer) of the module and its children.");
  type.def(
      "named_modules", [](nb::handle self) { return named_objects(self, nb::cast<Module&>(self).named_modules()); },
      nb::sig("def named_modules(self) -> list[tuple[str, Module]]"),
      "Pairs (path, module): this module, as '', and all its descendants.");
  type.def(
      "named_children", [](nb::handle self) { return named_objects(self, nb::cast<Module&>(self).named_children()); },
      nb::sig("def named_children(self) -> list[tuple[str, Module]]"), "Pairs (name, module) of its own children.");
  type.def("parameter_count", &Module::parameter_count, "Number of values in parameters().");
  type.def("trainable_parameter_count", &Module::trainable_parameter_count,
           "Number of values in trainable_parameters().");
  type.def("train", returning_self(&Module::train), nb::sig("def train(self, mode: bool = True) -> typing.Any"),
           arg("mode") = true, "Sets training mode, in which dropout is active; returns the module.");
  type.def("eval", returning_self(&Module::eval), nb::sig("def eval(self) -> typing.Any"),
           "Sets evaluation mode; returns the module.");
  type.def("prepare_for_inference", &Module::prepare_for_inference,
           "Sets evaluation mode and keeps packed copies of weights for speed.");
  type.def_prop_ro("training", &Module::is_training, "Whether the module is in training mode.");
  type.def("to", returning_self<DType>(&Module::to),
           nb::sig("def to(self, dtype: tapeformer._tapeformer.DType) -> typing.Any"), arg("dtype"),
           "Converts every parameter and floating buffer in place; returns the module.");
  type.def("to", returning_self<Device>(&Module::to), nb::sig("def to(self, device: str) -> typing.Any"), arg("device"),
           "Moves every parameter and buffer in place; returns the module.");
  type.def_prop_ro("device", &Module::device, "Device of its first parameter.");
  type.def("requires_grad_", returning_self(&Module::requires_grad_),
           nb::sig("def requires_grad_(self, requires_grad: bool = True) -> typing.Any"), arg("requires_grad") = true,
           "Whether the parameters accumulate gradients; returns the module.");
  type.def("freeze", &Module::freeze, "Excludes the parameters from training.");
  type.def("unfreeze", &Module::unfreeze, "Undoes freeze().");
  type.def("zero_grad", &Module::zero_grad, "Clears the gradients of all parameters.");
  type.def("settings", &Module::settings,
           "What the printed tree shows after the class name; override it in classes of your own.");
  type.def_prop_rw("name", &Module::name, &Module::set_name, "The name that its owner gave it; '' for a root.");
  bind_parts(type);
  bind_state(type);
  bind_hooks(type);
}

}  // namespace tape::python
