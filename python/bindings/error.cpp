#include "bindings.h"

namespace tape::python {
namespace {

PyObject* error_class = nullptr;  // kept until the process ends

void raise_in_python(const std::string& message, std::string_view kind, const std::string& path) {
  nb::object error = nb::borrow(error_class)(message);
  error.attr("kind") = nb::str(kind.data(), kind.size());
  error.attr("module_path") = path;
  PyErr_SetObject(error_class, error.ptr());
}

}  // namespace

void add_module_path(nb::python_error& error) {
  if (!error.matches(error_class)) return;
  const nb::object value = nb::borrow(error.value());
  const std::string path = ModuleScope::path();
  if (path.empty() || !nb::cast<std::string>(value.attr("module_path")).empty()) return;
  value.attr("module_path") = path;
  value.attr("args") = nb::make_tuple(path + ": " + nb::str(value).c_str());
}

void bind_error(nb::module_& m) {
  error_class = nb::exception<Error>(m, "Error", PyExc_RuntimeError).release().ptr();
  nb::handle(error_class).attr("__doc__") =
      "The library's only exception for mistakes of a program and bad input.\n\n"
      "`kind` is its category: 'shape', 'dtype', 'index', 'config', 'graph', 'format', 'io', 'numeric', "
      "'out_of_memory' or\n"
      "'device'. `module_path` is the innermost module that was running, such as 'encoder.layers.0'.";
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise_in_python(error.what(), to_string(error.kind()), error.module_path());
    }
  });
}

}  // namespace tape::python
