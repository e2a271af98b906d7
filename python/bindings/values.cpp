// Values of tensors in and out of Python: lists, NumPy, DLPack.
#include <nanobind/ndarray.h>

#include <fmt/format.h>

#include "bindings.h"

namespace tape::python {
namespace {

using Array = nb::ndarray<>;
using ReadOnlyArray = nb::ndarray<nb::ro>;

nb::dlpack::dtype dlpack_type(DType dtype) {
  using nb::dlpack::dtype_code;
  const auto code = dtype == boolean     ? dtype_code::Bool
                    : dtype == bf16      ? dtype_code::Bfloat
                    : is_floating(dtype) ? dtype_code::Float
                    : dtype == u8        ? dtype_code::UInt
                                         : dtype_code::Int;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * size_of(dtype)), 1};
}

std::string text_of(nb::dlpack::dtype type) {
  constexpr const char* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  return fmt::format("{}{}", type.code < 7 ? names[type.code] : "type", type.bits);
}

DType dtype_from(nb::dlpack::dtype type, const char* operation) {
  for (const DType dtype : {boolean, u8, i32, i64, f16, bf16, f32, f64})
    if (dlpack_type(dtype) == type) return dtype;
  raise(ErrorKind::dtype, "{}: has no dtype for {}; there are bool, u8, i32, i64, f16, bf16, f32 and f64", operation,
        text_of(type));
}

template <class A>
Shape shape_of(const A& array) {
  std::vector<int64_t> sizes(array.ndim());
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = static_cast<int64_t>(array.shape(i));
  return Shape(sizes);
}

/// Copies values with any strides.
void copy_values(const char* from, const ReadOnlyArray& array, size_t axis, int64_t bytes, char*& to) {
  if (axis == array.ndim()) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    to += bytes;
    return;
  }
  for (size_t i = 0; i < array.shape(axis); ++i)
    copy_values(from + static_cast<int64_t>(i) * array.stride(axis) * bytes, array, axis + 1, bytes, to);
}

void check_on_host(const ReadOnlyArray& array, const char* operation) {
  if (array.device_type() != nb::device::cpu::value)
    raise(ErrorKind::device, "{}: the array is on another device; copy it to the CPU first", operation);
}

Tensor copy_of(const ReadOnlyArray& array, const char* operation) {
  check_on_host(array, operation);
  const DType dtype = dtype_from(array.dtype(), operation);
  Tensor result = empty(shape_of(array), {dtype, cpu});
  if (result.numel() == 0) return result;
  char* to = static_cast<char*>(result.raw());
  copy_values(static_cast<const char*>(array.data()), array, 0, size_of(dtype), to);
  return result;
}

template <class A>
bool is_contiguous(const A& array) {
  int64_t expected = 1;
  for (size_t axis = array.ndim(); axis-- > 0;) {
    if (array.shape(axis) != 1 && array.stride(axis) != expected) return false;
    expected *= static_cast<int64_t>(array.shape(axis));
  }
  return true;
}

/// "float", or "ndarray of >f8" for an array.
std::string type_of(nb::handle value) {
  const std::string name = nb::type_name(value.type()).c_str();
  if (!nb::hasattr(value, "dtype")) return name;
  const nb::object dtype = value.attr("dtype");
  return fmt::format("{} of {}", name, nb::str(nb::handle(dtype)).c_str());
}

/// Shares the memory of an array that may be written and has no gaps; copies another one.
Tensor from_array(nb::handle source, const char* operation) {
  Array array;
  if (!nb::try_cast(source, array)) {
    ReadOnlyArray read_only;
    if (nb::try_cast(source, read_only)) return copy_of(read_only, operation);
    PyErr_Clear();  // from the attempts above
    raise(ErrorKind::config,
          "{}: takes an array of NumPy, PyTorch or another library with DLPack or the buffer protocol, got {}",
          operation, type_of(source));
  }
  const ReadOnlyArray view(array);
  if (!is_contiguous(array)) return copy_of(view, operation);
  check_on_host(view, operation);
  const DType dtype = dtype_from(array.dtype(), operation);
  void* const data = array.data();
  if (reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(size_of(dtype)) != 0) return copy_of(view, operation);
  auto* const owner = new Array(array);
  return from_blob(data, shape_of(array), dtype, owner, [](void* kept) {
    const nb::gil_scoped_acquire gil;
    delete static_cast<Array*>(kept);
  });
}

// --- nested lists ---

bool is_list(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || PyObject_TypeCheck(value.ptr(), &PyRange_Type);
}

/// Whether the innermost lists hold arrays: [np.zeros(2), np.ones(2)].
bool holds_arrays(nb::handle value) {
  nb::object first = nb::borrow(value);
  while (is_list(first) && nb::len(first) > 0) first = nb::object(first[0]);
  return !is_list(first) && has_axes(first.ptr());
}

void find_shape(nb::handle value, std::vector<int64_t>& sizes) {
  while (is_list(value)) {
    sizes.push_back(static_cast<int64_t>(nb::len(value)));
    if (sizes.back() == 0) return;
    value = nb::borrow(value[0]);
  }
}

struct ListValues {
  std::vector<Number> values = {};
  DType dtype = boolean;  // the highest category: bool, i64 or f64

  void read(nb::handle value, const std::vector<int64_t>& sizes, size_t axis) {
    if (axis == sizes.size()) {
      Number number = 0;
      nb::object held;  // a Tensor of one element counts as its value
      if (Tensor tensor; nb::try_cast(value, tensor)) {
        number = tensor.dtype() == boolean     ? Number(tensor.item() != 0)
                 : is_floating(tensor.dtype()) ? Number(tensor.item())
                                               : Number(tensor.item<int64_t>());
      } else if (PyLong_Check(value.ptr()) && !nb::try_cast(value, number)) {
        raise(ErrorKind::numeric, "tensor: {} does not fit i64", nb::str(value).c_str());
      } else if (!nb::try_cast(value, number)) {
        raise(nb::hasattr(value, "dtype") ? ErrorKind::dtype : ErrorKind::config,
              "tensor: takes numbers, lists of them and arrays of numbers, got {}", type_of(value));
      }
      dtype = promote_types(dtype, number.dtype());
      values.push_back(number);
      return;
    }
    if (!is_list(value) || static_cast<int64_t>(nb::len(value)) != sizes[axis])
      raise(ErrorKind::shape, "tensor: rows differ in length on axis {}: {} and {}", axis, sizes[axis],
            is_list(value) ? fmt::format("{}", nb::len(value)) : "a number");
    for (nb::handle item : nb::borrow<nb::sequence>(value)) read(item, sizes, axis + 1);
  }
};

void check_fits(const Number& number, DType dtype) {
  dispatch_all(dtype, [&]<class T>(T) { static_cast<void>(number.to<T>("tensor")); });
}

Tensor from_arrays(nb::handle data) {
  if (!is_list(data)) {
    if (nb::isinstance<Tensor>(data))
      raise(ErrorKind::config, "tensor: the list holds tensors with axes; join them with tape.stack()");
    return new_tensor(data);
  }
  Tensors rows;
  for (nb::handle row : nb::borrow<nb::sequence>(data)) {
    rows.push_back(from_arrays(row));
    if (rows.back().shape() != rows.front().shape())
      raise(ErrorKind::shape, "tensor: rows differ in shape: {} and {}", to_string(rows.front().shape()),
            to_string(rows.back().shape()));
  }
  return stack(rows);
}

Tensor from_lists(nb::handle data, std::optional<DType> dtype) {
  if (is_list(data) && holds_arrays(data)) {
    const NoGrad no_grad;
    const DeviceScope host(cpu);
    const Tensor values = from_arrays(data);
    return dtype ? values.to(*dtype) : values;
  }
  std::vector<int64_t> sizes;
  find_shape(data, sizes);
  const Shape shape(sizes);
  ListValues list;
  list.read(data, sizes, 0);
  const bool floating = list.values.empty() || list.dtype == f64;
  const DType natural = floating ? f32 : list.dtype;
  // Integers stay exact on their way.
  if (list.dtype == f64 || list.values.empty()) {
    std::vector<double> values;
    for (const Number& number : list.values) values.push_back(number.value());
    return from_vector(values, shape).to(dtype.value_or(natural));
  }
  std::vector<int64_t> values;
  for (const Number& number : list.values) {
    if (dtype && is_integral(*dtype)) check_fits(number, *dtype);
    values.push_back(number.to<int64_t>("tensor"));
  }
  return from_vector(values, shape).to(dtype.value_or(natural));
}

Tensor make_tensor(nb::handle data, std::optional<DType> dtype, const std::optional<std::string>& device_name,
                   bool requires_grad) {
  Tensor result;
  std::optional<Device> device;
  if (device_name) device = parse_device(*device_name);
  if (Tensor given; nb::try_cast(data, given)) {
    const NoGrad no_grad;
    result = given.clone().to(dtype.value_or(given.dtype())).detach();
    if (!device) device = given.device();
  } else if (is_list(data) || PyFloat_CheckExact(data.ptr()) || PyLong_Check(data.ptr())) {  // not numpy.float64
    result = from_lists(data, dtype);
  } else {
    ReadOnlyArray array;
    if (nb::try_cast(data, array)) {
      result = copy_of(array, "tensor");
      if (dtype) result = result.to(*dtype);
    } else {
      result = from_lists(data, dtype);  // a number of another library, or the error
    }
  }
  return leaf(result.to(device.value_or(default_device())), requires_grad);
}

// --- out ---

/// A view of the values that keeps the tensor alive. It is read-only, so that no write from outside is missed by
/// version(), and with it by a backward pass that saved the values.
template <class Framework>
nb::object view_of(const Tensor& tensor, const char* operation, nb::rv_policy policy = nb::rv_policy::automatic) {
  if (tensor.requires_grad())
    raise(ErrorKind::graph, "{}: the tensor requires gradients, which the array would not have; use x.detach().{}()",
          operation, operation);
  std::vector<size_t> sizes;
  for (const int64_t size : tensor.shape()) sizes.push_back(static_cast<size_t>(size));
  auto* const kept = new Tensor(tensor.detach());  // of these values, whatever set_data() gives the tensor later
  const nb::capsule owner(kept, [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  return nb::cast(nb::ndarray<Framework, nb::ro>(tensor.raw(), sizes.size(), sizes.data(), owner, nullptr,
                                                 dlpack_type(tensor.dtype())),
                  policy);
}

nb::object numpy_of(const Tensor& tensor) {
  // NumPy has no bfloat16.
  return view_of<nb::numpy>(tensor.dtype() == bf16 ? tensor.to(f32) : tensor, "numpy");
}

nb::object list_of(const Tensor& tensor) {
  const NoGrad no_grad;
  const Tensor host = (is_half(tensor.dtype()) ? tensor.to(f32) : tensor).detach().to(cpu);
  return numpy_of(host).attr("tolist")();
}

}  // namespace

Tensor new_tensor(nb::handle data) { return make_tensor(data, std::nullopt, std::nullopt, false); }

void bind_values_of_tensors(nb::class_<Tensor>& tensor, nb::module_& m) {
  m.def("tensor", &make_tensor, nb::arg("data"), nb::kw_only(), nb::arg("dtype") = nb::none(),
        nb::arg("device") = nb::none(), nb::arg("requires_grad") = false,
        "A new tensor with a copy of the data: a number, nested lists, an array of NumPy or PyTorch, or a tensor.\n\n"
        "Floating numbers in lists become f32, integers i64 and booleans bool; arrays keep their dtype. Error (shape) "
        "if\n"
        "rows differ in length, (dtype) for an array of another type.");
  m.def(
      "from_numpy", [](nb::handle array) { return from_array(array, "from_numpy"); }, nb::arg("array"),
      "A tensor that shares the memory of a NumPy array, or of anything else with the buffer protocol or DLPack.\n\n"
      "What is not contiguous, misaligned or read-only is copied. A write to the array afterwards changes the tensor "
      "without being counted in\n"
      "version(): do not write while a backward pass may still need the values. Error (dtype) for other types.");
  m.def(
      "from_dlpack", [](nb::handle array) { return from_array(array, "from_dlpack"); }, nb::arg("array"),
      "A tensor that shares the memory of a tensor of PyTorch, JAX or another library with DLPack; see from_numpy().");
  tensor.def(
      "numpy", &numpy_of,
      "The values as a NumPy array, without a copy (bf16 as f32, with one). The array is read-only, so that every "
      "write to the\n"
      "tensor is counted; use x.numpy().copy() for an array to write. Error (graph) if the tensor requires gradients,\n"
      "(device) if it is not on the CPU.");
  tensor.def(
      "__array__",
      [](const Tensor& self, nb::handle dtype, nb::handle copy) {
        nb::object array = numpy_of(self);
        if (!dtype.is_none())
          array = array.attr("astype")(dtype);
        else if (copy.ptr() == Py_True)
          array = array.attr("copy")();
        return array;
      },
      nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
  // Pickled as an array of NumPy.
  tensor.def("__reduce__", [](const Tensor& self) {
    if (!self.is_leaf())
      raise(ErrorKind::graph, "pickle: the tensor is the result of a recorded operation; use x.detach()");
    nb::object array = numpy_of(self.detach().to(cpu)).attr("copy")();
    return nb::make_tuple(nb::module_::import_("tapeformer._pickling").attr("tensor"),
                          nb::make_tuple(array, self.dtype(), to_string(self.device()), self.requires_grad()));
  });
  tensor.attr("__array_ufunc__") = nb::none();  // np.float64(2) * x is x.__rmul__
  tensor.def(
      "__dlpack__",
      [](const Tensor& self, nb::kwargs options) {
        // Without a version, the library does not know that values can be read-only: it gets a copy.
        const bool knows = options.contains("max_version") && !nb::object(options["max_version"]).is_none();
        const Tensor detached = knows ? self.detach() : self.detach().clone();
        return view_of<nb::array_api>(detached, "dlpack").attr("__dlpack__")(**options);
      },
      "The values for another library, without a copy and read-only where the library knows that.");
  tensor.def("__dlpack_device__",
             [](const Tensor& self) { return std::pair(self.device().is_cpu() ? 1 : 2, self.device().index()); });
  tensor.def("tolist", &list_of, "The values as nested lists, or as a number for a tensor without axes.");
  tensor.def(
      "item",
      [](const Tensor& self) -> nb::object {
        if (self.numel() == 1 && self.dtype() == boolean) return nb::bool_(self.item() != 0);
        if (self.numel() == 1 && is_integral(self.dtype())) return nb::int_(self.item<int64_t>());
        return nb::float_(self.item());
      },
      "The value of a tensor with one element, as a float, int or bool. Error (shape) for other sizes.");
}

}  // namespace tape::python
