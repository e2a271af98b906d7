#pragma once

// What the sources of the bindings share.
#include "casters.h"
#include "enumerations.h"

namespace nanobind::detail {

/// A layer that C++ constructed is of a private subclass of the class it was declared with; Python sees the declared
/// class, or Module if that is not bound.
template <>
struct type_hook<tape::nn::Module> {
  static const std::type_info* get(const tape::nn::Module* module) {
    const std::type_info* const type = module ? &module->type() : &typeid(tape::nn::Module);
    return NB_CALL(nb_type_lookup)(NB_CTX, type) ? type : &typeid(tape::nn::Module);
  }
};

}  // namespace nanobind::detail

namespace nb = nanobind;

namespace tape::python {

/// Other threads of Python run while the library computes.
using release_gil = nb::call_guard<nb::gil_scoped_release>;
inline constexpr release_gil release;

/// f32 on the default device where nothing is given.
inline TensorOptions tensor_options(std::optional<DType> dtype, const std::optional<std::string>& device) {
  return {dtype.value_or(f32), device ? parse_device(*device) : default_device()};
}

/// The tensor that a function made, as a leaf if gradients are to flow to it.
inline Tensor leaf(Tensor made, bool requires_grad) { return requires_grad ? made.requires_grad_() : made; }

/// A constructor without arguments, for classes that have one: .def(DefaultConstructor<T>()).
template <class T>
struct DefaultConstructor : nb::def_visitor<DefaultConstructor<T>> {
  template <class Class, class... Extra>
  void execute(Class& type, const Extra&...) {
    if constexpr (std::is_default_constructible_v<T>) type.def(nb::init<>());
  }
};

/// Defines an operation as a function and as a method of Tensor, which is its first argument.
template <class F, class... Extra>
void define(nb::module_& m, nb::class_<Tensor>& tensor, const char* name, F function, const nb::arg& first,
            const Extra&... extra) {
  m.def(name, function, first, extra...);
  tensor.def(name, function, extra...);
}

/// An object of Python that C++ holds, copies and releases while it does not hold the GIL.
class HeldObject {
 public:
  explicit HeldObject(nb::object object)
      : object_(new nb::object(std::move(object)), [](nb::object* held) {
          const nb::gil_scoped_acquire gil;
          delete held;
        }) {}
  const nb::object& get() const { return *object_; }

 private:
  std::shared_ptr<nb::object> object_;
};

/// What a function of Python returned, as a T. TypeError `function: must return a tensor, got tuple` if it is something
/// else.
template <class T>
T returned(nb::handle value, const std::string& what, const std::string& function = "function") {
  T result{};
  if (nb::try_cast(value, result)) return result;
  throw nb::type_error((function + ": must return " + what + ", got " + nb::type_name(value.type()).c_str()).c_str());
}

/// Calls a hook of Python.
template <class Hook, class... A>
auto call_hook(const Hook& hook, const char* returns, const A&... arguments) {
  try {
    return hook(arguments...);
  } catch (const nb::cast_error&) {
    raise(ErrorKind::config, "hook: must return {}, or None", returns);
  }
}

/// A function of several tensors, called as f(*inputs).
inline std::function<Tensor(const Tensors&)> function_of_tensors(nb::callable function) {
  return [held = HeldObject(std::move(function))](const Tensors& inputs) {
    const nb::gil_scoped_acquire gil;
    return returned<Tensor>(held.get()(*nb::cast(inputs)), "a tensor");
  };
}

/// tapeformer.tensor(data): a new tensor with a copy of numbers, nested lists or an array.
Tensor new_tensor(nb::handle data);

/// The submodule of this name, such as "nn.init"; created if there is none yet.
nb::module_ sub(nb::module_& root, std::string_view name);

/// A structure of results, whose fields can be unpacked: values, indices = topk(x, 3).
template <class T, class... Fields>
void structure(nb::module_ m, const char* name, const char* doc, const Fields&... fields) {
  nb::class_<T> type(m, name, doc);
  nb::list names;
  const auto define = [&](const auto& self, const char* field, auto member, const char* text, const auto&... rest) {
    type.def_ro(field, member, text);
    names.append(field);
    if constexpr (sizeof...(rest) > 0) self(self, rest...);
  };
  define(define, fields...);
  type.attr("__match_args__") = nb::tuple(names);
  type.def("__iter__", [](nb::handle self) {
    nb::list values;
    for (nb::handle field : self.type().attr("__match_args__")) values.append(self.attr(field));
    return nb::iter(values);
  });
  type.def("__len__", [](nb::handle self) { return nb::len(nb::tuple(self.type().attr("__match_args__"))); });
  type.def("__getitem__", [](nb::handle self, int64_t position) {
    return self.attr(nb::object(self.type().attr("__match_args__")[position]));
  });
  type.def("__repr__", [](nb::handle self) {
    std::string text = std::string(nb::str(self.type().attr("__name__")).c_str()) + "(";
    const char* separator = "";
    for (nb::handle field : self.type().attr("__match_args__")) {
      text += separator + std::string(nb::str(field).c_str()) + "=" + nb::repr(self.attr(field)).c_str();
      separator = ", ";
    }
    return text + ")";
  });
}

void bind_error(nb::module_& m);
void bind_values_of_tensors(nb::class_<Tensor>& tensor, nb::module_& m);
void bind_tensor(nb::class_<Tensor>& tensor);
void bind_ranges(nb::module_& m);
void bind_files(nb::module_& m);
void bind_threads(nb::module_& m);
void bind_autograd(nb::module_& m);
void bind_gradcheck(nb::module_& m);
void bind_inspect(nb::module_& m);
void bind_random(nb::module_& m);
void bind_mask(nb::module_& m);
void bind_module(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_optimizer(nb::module_& m);
void bind_command(nb::module_& m);
void bind_tokenizer(nb::module_& m);
void bind_folders_of_models(nb::module_& m);
void bind_training(nb::module_& m);
void bind_generated(nb::module_& root, nb::class_<Tensor>& tensor);

/// Prefixes a Python exception of class Error with the running module's path, as Error::set_module_path() does.
void add_module_path(nb::python_error& error);

}  // namespace tape::python
