#pragma once

// How values of C++ and Python are converted into each other, beyond classes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapeformer.h"

namespace tape::python {

/// Whether an object is an array or tensor with axes.
inline bool has_axes(PyObject* object) noexcept {
  PyObject* const shape = PyLong_Check(object) ? nullptr : PyObject_GetAttrString(object, "shape");
  const bool found = shape && PyObject_Size(shape) > 0;
  Py_XDECREF(shape);
  PyErr_Clear();
  return found;
}

/// Reads an integer from any object with __index__; false for others, for arrays with axes, and out of range.
inline bool read_integer(PyObject* object, int64_t& value) noexcept {
  if (!PyIndex_Check(object) || PyBool_Check(object) || has_axes(object)) return false;
  PyObject* const whole = PyNumber_Index(object);
  value = whole ? PyLong_AsLongLong(whole) : -1;
  Py_XDECREF(whole);
  const bool read = value != -1 || !PyErr_Occurred();
  PyErr_Clear();
  return read;
}

/// Reads a list, a tuple or another sequence of integers.
inline bool read_integers(PyObject* object, std::vector<int64_t>& values) noexcept {
  // Functions of the stable ABI only, as everywhere in the bindings.
  if (!PyList_Check(object) && !PyTuple_Check(object)) return false;
  const Py_ssize_t size = PySequence_Size(object);
  values.resize(static_cast<size_t>(size));
  bool read = true;
  for (Py_ssize_t i = 0; read && i < size; ++i) {
    PyObject* const item = PySequence_GetItem(object, i);
    read = item && read_integer(item, values[static_cast<size_t>(i)]);
    Py_XDECREF(item);
  }
  PyErr_Clear();
  return read;
}

/// The same, or one integer.
inline bool read_one_or_more(PyObject* object, std::vector<int64_t>& values) noexcept {
  values.resize(1);
  return read_integer(object, values[0]) || read_integers(object, values);
}

/// Whether an attribute of an object's class is one of these texts.
inline bool class_has(PyObject* object, const char* attribute, std::initializer_list<std::string_view> texts) noexcept {
  PyObject* const value = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), attribute);
  const char* const text = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, nullptr) : nullptr;
  const bool found = text && std::find(texts.begin(), texts.end(), text) != texts.end();
  Py_XDECREF(value);
  PyErr_Clear();
  return found;
}

/// Whether an object is a number without axes from NumPy.
inline bool is_numpy_scalar(PyObject* object) noexcept {
  return class_has(object, "__module__", {"numpy"}) && !PySequence_Check(object);
}

}  // namespace tape::python

namespace nanobind::detail {

/// What converters share whose value is made when the function is called, where it may throw.
template <class T>
struct late_caster {
  static constexpr bool IsClass = false;
  using Value = T;
  template <class>
  using Cast = T;
  template <class>
  static constexpr bool can_cast() {
    return true;
  }
};

/// A list of tensors. A tensor is not one, although it is a sequence of its rows.
template <class Entry>
struct tensors_caster : list_caster<std::vector<Entry>, Entry> {
  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    return !isinstance<tape::Tensor>(source) &&
           list_caster<std::vector<Entry>, Entry>::from_python(source, flags, cleanup);
  }
};

template <>
struct type_caster<std::vector<tape::Tensor>> : tensors_caster<tape::Tensor> {};
template <>
struct type_caster<std::vector<std::optional<tape::Tensor>>> : tensors_caster<std::optional<tape::Tensor>> {};

/// Sizes: a sequence of integers, or one; a tuple in Python.
template <>
struct type_caster<tape::Shape> : late_caster<tape::Shape> {
  static constexpr auto Name = io_name("int | collections.abc.Sequence[int]", "tuple[int, ...]");

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    return tape::python::read_one_or_more(source.ptr(), sizes_);
  }
  static handle from_cpp(const tape::Shape& shape, rv_policy, cleanup_list*) noexcept {
    PyObject* const result = PyTuple_New(static_cast<Py_ssize_t>(shape.rank()));
    for (int64_t i = 0; result && i < shape.rank(); ++i)
      PyTuple_SetItem(result, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
    return result;
  }
  explicit operator tape::Shape() const { return tape::Shape(sizes_); }

 private:
  std::vector<int64_t> sizes_;
};

/// None for all axes, one axis, or a sequence.
template <>
struct type_caster<tape::Axes> : late_caster<tape::Axes> {
  static constexpr auto Name = const_name("int | collections.abc.Sequence[int]");

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    return source.is_none() || tape::python::read_one_or_more(source.ptr(), axes_);
  }
  static handle from_cpp(const tape::Axes&, rv_policy, cleanup_list*) noexcept { return none().release(); }
  explicit operator tape::Axes() const { return axes_.empty() ? tape::Axes() : tape::Axes(axes_); }

 private:
  std::vector<int64_t> axes_;
};

/// keepdim: False drops reduced axes.
template <>
struct type_caster<tape::Dims> {
  NB_TYPE_CASTER(tape::Dims, const_name("bool"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!PyBool_Check(source.ptr())) return false;
    value = source.ptr() == Py_True ? tape::Dims::keep : tape::Dims::drop;
    return true;
  }
  static handle from_cpp(tape::Dims dims, rv_policy, cleanup_list*) noexcept {
    return nanobind::bool_(dims == tape::Dims::keep).release();
  }
};

/// bool, int or float, also NumPy's.
template <>
struct type_caster<tape::Number> : late_caster<tape::Number> {
  static constexpr auto Name = const_name("bool | int | float");

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    PyObject* const object = source.ptr();
    if (PyBool_Check(object)) {
      number_ = object == Py_True;
      return true;
    }
    if (PyFloat_Check(object)) {
      number_ = PyFloat_AsDouble(object);
      return true;
    }
    if (PyLong_Check(object) || tape::python::is_numpy_scalar(object)) {
      if (!PyLong_Check(object) && tape::python::class_has(object, "__name__", {"bool", "bool_"})) {
        number_ = PyObject_IsTrue(object) == 1;
        return true;
      }
      int64_t whole = 0;
      if (tape::python::read_integer(object, whole)) {
        number_ = whole;
        return true;
      }
      const double value = PyLong_Check(object) ? -1 : PyFloat_AsDouble(object);
      if (!PyErr_Occurred() && !PyLong_Check(object)) {
        number_ = value;
        return true;
      }
      PyErr_Clear();
    }
    return false;
  }
  static handle from_cpp(const tape::Number& number, rv_policy, cleanup_list*) noexcept {
    if (number.dtype() == tape::DType::f64) return PyFloat_FromDouble(number.value());
    if (number.dtype() == tape::DType::boolean) return nanobind::bool_(number.value() != 0).release();
    return PyLong_FromLongLong(number.to<int64_t>("number"));
  }
  explicit operator tape::Number() const { return number_; }

 private:
  tape::Number number_ = 0;
};

/// "cpu", "cuda", "cuda:1".
template <>
struct type_caster<tape::Device> : late_caster<tape::Device> {
  static constexpr auto Name = const_name("str");

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    const char* const text = PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), nullptr) : nullptr;
    if (!text) return PyErr_Clear(), false;
    name_ = text;
    return true;
  }
  static handle from_cpp(tape::Device device, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromString(tape::to_string(device).c_str());
  }
  explicit operator tape::Device() const { return tape::parse_device(name_); }

 private:
  std::string name_;
};

/// One size for all spatial axes, or one per axis; None if not given.
template <>
struct type_caster<tape::SpatialSizes> : late_caster<tape::SpatialSizes> {
  static constexpr auto Name = const_name("int | collections.abc.Sequence[int]");

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    return source.is_none() || tape::python::read_one_or_more(source.ptr(), sizes_);
  }
  static handle from_cpp(const tape::SpatialSizes& sizes, rv_policy, cleanup_list*) noexcept {
    if (!sizes.given()) return none().release();
    return PyLong_FromLongLong(sizes.of("default", "size", 1, 0)[0]);
  }
  explicit operator tape::SpatialSizes() const {
    return sizes_.empty() ? tape::SpatialSizes() : tape::SpatialSizes(sizes_);
  }

 private:
  std::vector<int64_t> sizes_;
};

/// Sizes as above, or "same".
template <>
struct type_caster<tape::ConvPadding> : late_caster<tape::ConvPadding> {
  static constexpr auto Name = const_name("int | collections.abc.Sequence[int] | typing.Literal['same', 'valid']");

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (PyUnicode_Check(source.ptr())) {
      const char* const text = PyUnicode_AsUTF8AndSize(source.ptr(), nullptr);
      same_ = text && std::string_view(text) == "same";
      sizes_ = {0};
      return same_ || (text && std::string_view(text) == "valid");
    }
    return tape::python::read_one_or_more(source.ptr(), sizes_);
  }
  static handle from_cpp(const tape::ConvPadding& padding, rv_policy, cleanup_list*) noexcept {
    return padding.same() ? PyUnicode_FromString("same") : PyLong_FromLong(0);
  }
  explicit operator tape::ConvPadding() const {
    return same_ ? tape::ConvPadding(tape::PadTo::same) : tape::ConvPadding(tape::SpatialSizes(sizes_));
  }

 private:
  std::vector<int64_t> sizes_;
  bool same_ = false;
};

/// Pairs (before, after).
template <>
struct type_caster<tape::Padding> {
  NB_TYPE_CASTER(tape::Padding, const_name("tuple[int, int]"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    std::vector<int64_t> sizes;
    if (!tape::python::read_integers(source.ptr(), sizes) || sizes.size() != 2) return false;
    value = {.before = sizes[0], .after = sizes[1]};
    return true;
  }
  static handle from_cpp(const tape::Padding& padding, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<std::pair<int64_t, int64_t>>::from_cpp(std::pair(padding.before, padding.after), policy,
                                                              cleanup);
  }
};

/// Pairs (name, tensor).
template <>
struct type_caster<tape::NamedTensor> {
  NB_TYPE_CASTER(tape::NamedTensor, const_name("tuple[str, Tensor]"))

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::pair<std::string, tape::Tensor>> pair;
    if (!pair.from_python(source, flags, cleanup)) return false;
    const auto read = static_cast<std::pair<std::string, tape::Tensor>>(pair);
    value = {read.first, read.second};
    return true;
  }
  static handle from_cpp(const tape::NamedTensor& named, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<std::pair<std::string, tape::Tensor>>::from_cpp(std::pair(named.name, named.tensor), policy,
                                                                       cleanup);
  }
};

}  // namespace nanobind::detail

/// An enumeration as the names of its values.
#define TAPE_STRING_ENUMERATION(Type, Annotation, ...)                                                            \
  template <>                                                                                                     \
  struct nanobind::detail::type_caster<Type> {                                                                    \
    NB_TYPE_CASTER(Type, const_name(Annotation))                                                                  \
    static constexpr std::pair<std::string_view, Type> kValues[] = {__VA_ARGS__};                                 \
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {                                            \
      const char* const text =                                                                                    \
          PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), nullptr) : nullptr;               \
      if (!text) return PyErr_Clear(), false;                                                                     \
      for (const auto& [name, read] : kValues)                                                                    \
        if (name == text) return value = read, true;                                                              \
      return false;                                                                                               \
    }                                                                                                             \
    static handle from_cpp(Type given, rv_policy, cleanup_list*) noexcept {                                       \
      for (const auto& [name, read] : kValues)                                                                    \
        if (read == given) return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())); \
      return none().release();                                                                                    \
    }                                                                                                             \
  };
