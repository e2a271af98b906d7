#include "exceptions.h"

#include <utility>

namespace tape::python {
namespace {

// Kept until the process ends.
PyObject* error_class = nullptr;
PyObject* left_early_class = nullptr;

/// An Error that was a Python exception in between.
struct ErrorFromPython : Error {
  ErrorFromPython(ErrorKind kind, const std::string& message, const nb::python_error& error)
      : Error(kind, message), original(std::make_shared<nb::python_error>(error)) {}
  std::shared_ptr<nb::python_error> original;
};

/// The exception of C++ behind a Python exception of class left_early_class.
thread_local std::exception_ptr left_early;

ErrorKind kind_named(const std::string& name) {
  for (const ErrorKind kind :
       {ErrorKind::shape, ErrorKind::dtype, ErrorKind::index, ErrorKind::config, ErrorKind::graph, ErrorKind::format,
        ErrorKind::io, ErrorKind::numeric, ErrorKind::out_of_memory, ErrorKind::device})
    if (to_string(kind) == name) return kind;
  return ErrorKind::config;
}

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

void rethrow_original(const nb::python_error& error) {
  const nb::gil_scoped_acquire gil;
  if (error.matches(left_early_class)) std::rethrow_exception(std::exchange(left_early, nullptr));
  if (!error.matches(error_class)) return;
  const nb::object value = nb::borrow(error.value());
  if (!nb::hasattr(value, "kind")) return;  // raised in Python
  throw ErrorFromPython(kind_named(nb::cast<std::string>(value.attr("kind"))), nb::str(value).c_str(), error);
}

void bind_error(nb::module_& m) {
  error_class = nb::exception<Error>(m, "Error", PyExc_RuntimeError).release().ptr();
  nb::handle(error_class).attr("__doc__") =
      "The library's only exception for mistakes of a program and bad input.\n\n"
      "`kind` is its category: 'shape', 'dtype', 'index', 'config', 'graph', 'format', 'io', 'numeric', "
      "'out_of_memory' or\n"
      "'device'. `module_path` is the innermost module that was running, such as 'encoder.layers.0'.";
  // Of an error that a program raises itself.
  nb::handle(error_class).attr("kind") = "config";
  nb::handle(error_class).attr("module_path") = "";
  // No Exception of Python, so that no handler on the way takes it for an error.
  left_early_class = PyErr_NewException("tapeformer._LeftEarly", PyExc_BaseException, nullptr);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const ErrorFromPython& error) {
      nb::python_error(*error.original).restore();
    } catch (const Error& error) {
      raise_in_python(error.what(), to_string(error.kind()), error.module_path());
    } catch (const nb::cast_error&) {
      PyErr_SetString(PyExc_TypeError, "a function returned a value of a wrong type, or an argument has one");
    } catch (const std::exception&) {
      throw;
    } catch (...) {
      left_early = thrown;
      PyErr_SetString(left_early_class, "a function is run up to an operation only");
    }
  });
}

}  // namespace tape::python
