#pragma once

#include "bindings.h"

namespace tape::python {

/// If a Python exception began as one of C++ that the library may handle (an Error, or what leaves a function early),
/// throws that one again. An Error becomes the same Python exception, with its traceback, if it reaches Python after
/// all.
void rethrow_original(const nb::python_error& error);

/// A function of Python for code of the library that handles exceptions.
template <class Result, class... Arguments>
std::function<Result(Arguments...)> through_python(std::function<Result(Arguments...)> f) {
  return [f = std::move(f)](Arguments... arguments) -> Result {
    try {
      return f(arguments...);
    } catch (const nb::python_error& error) {
      rethrow_original(error);
      throw;
    }
  };
}

}  // namespace tape::python
