#include <fmt/format.h>

#include <cmath>

#include "bindings.h"

namespace tape::python {
namespace {

using nb::arg;

// --- indexing ---

/// Lists and arrays become tensors of the device, where the indexed tensor is.
IndexItem item_of(nb::handle key, Device device) {
  if (key.is_none()) return None;
  if (key.ptr() == Py_Ellipsis) return Ellipsis;
  int64_t position = 0;
  if (read_integer(key.ptr(), position)) return position;
  if (PySlice_Check(key.ptr())) {
    SliceOptions range;
    const auto read = [&](const char* name, int64_t& value) {
      const nb::object bound = key.attr(name);
      if (!bound.is_none() && !read_integer(bound.ptr(), value))
        raise(ErrorKind::index, "index: the {} of a slice must be an integer, got {}", name, nb::repr(bound).c_str());
    };
    read("start", range.start);
    read("stop", range.end);
    read("step", range.step);
    return range;
  }
  Tensor positions;  // or a mask
  if (PyList_Check(key.ptr()) && nb::len(key) == 0)
    positions = zeros({0}, {i64, device});
  else if (!nb::try_cast(key, positions))
    positions = new_tensor(key).to(device);
  return is_integral(positions.dtype()) ? positions.to(i64) : positions;
}

IndexItems items_of(nb::handle key, Device device) {
  IndexItems items;
  if (!PyTuple_Check(key.ptr())) return {item_of(key, device)};
  for (nb::handle item : nb::borrow<nb::tuple>(key)) items.push_back(item_of(item, device));
  return items;
}

Tensor get_item(const Tensor& self, nb::handle key) {
  int64_t position = 0;
  if (read_integer(key.ptr(), position)) return self[position];  // a view
  return index(self, items_of(key, self.device()));
}

/// x[key] = value, in place as in NumPy: only outside of recorded computations.
void set_item(Tensor& self, nb::handle key, nb::handle value) {
  Tensor given;
  if (Tensor tensor; nb::try_cast(value, tensor))
    given = tensor.to(self.dtype());
  else if (Number number = 0; nb::try_cast(value, number))
    given = full({}, number, self.options());
  else
    given = new_tensor(value).to(self.options());
  const IndexItems items = items_of(key, self.device());
  if ((self.requires_grad() || given.requires_grad()) && grad_enabled())
    raise(ErrorKind::graph,
          "index: writing to a tensor in place is not recorded; use x = x.index_put(key, values), or tape.no_grad() "
          "for values only");
  self.copy_(index_put(self, items, given));
}

// --- varargs: x.reshape(2, 3) and x.reshape([2, 3]) ---

std::vector<int64_t> sizes_of(const nb::args& given, const char* operation) {
  std::vector<int64_t> sizes;
  if (given.size() == 1 && !PyIndex_Check(given[0].ptr())) {
    if (!read_integers(nb::handle(given[0]).ptr(), sizes))
      raise(ErrorKind::config, "{}: takes integers, or a list of them, got {}", operation, nb::repr(given[0]).c_str());
    return sizes;
  }
  for (nb::handle item : given) {
    int64_t size = 0;
    if (!read_integer(item.ptr(), size))
      raise(ErrorKind::config, "{}: takes integers, or a list of them, got {}", operation, nb::repr(item).c_str());
    sizes.push_back(size);
  }
  return sizes;
}

/// Arrays of other libraries are no operands: their own operators would take a tensor apart.
void refuse_array(nb::handle value, const char* use) {
  if (nb::hasattr(value, "__array__") || nb::hasattr(value, "__dlpack__"))
    throw nb::type_error(fmt::format("a Tensor cannot be {} a {}; make a tensor of it with tape.tensor()", use,
                                     nb::type_name(value.type()).c_str())
                             .c_str());
}

/// For another operand than those of the overloads before.
void define_fallback(nb::class_<Tensor>& tensor, const char* name, const char* use) {
  tensor.def(
      name,
      [use](const Tensor&, nb::handle other) -> nb::object {
        refuse_array(other, use);
        return nb::not_implemented();
      },
      arg("other").none());
}

/// floor(a / b) without a gradient; exact for integers.
Tensor floor_divide(const Tensor& a, const Tensor& b) {
  const NoGrad no_grad;
  const DType dtype = result_type(a, b);
  if (is_half(dtype)) return floor_divide(a.to(f32), b.to(f32)).to(dtype);
  const Tensor rest = remainder(a, b);
  if (is_floating(dtype)) {
    const Tensor x = a.to(dtype), divisor = b.to(dtype);
    // Of opposite signs, with an infinite divisor: the remainder is infinite.
    const Tensor whole = masked_fill(round((x - rest) / divisor), eq(abs(rest), INFINITY), -1);
    return where(eq(divisor, 0), x / divisor, whole);
  }
  // f64 rounds a large quotient, so that some more divisors, exactly, are missing.
  const Tensor x = a.to(i64), divisor = b.to(i64), wide = divisor.to(f64);
  const Tensor near = clamp(trunc(x.to(f64) / wide), -0x1p63 + 1024, 0x1p63 - 1024).to(i64);
  const Tensor missing = x - near * divisor - rest.to(i64);
  return (near + round(missing.to(f64) / wide).to(i64)).to(dtype);
}

/// A binary operator with a tensor or a number on the right; anything else is left to the other operand.
template <class F>
void define_operator(nb::class_<Tensor>& tensor, const char* name, const F& f) {
  tensor.def(
      name, [f](const Tensor& a, const Tensor& b) -> Tensor { return f(a, b); }, nb::is_operator(), release);
  tensor.def(
      name, [f](const Tensor& a, const Number& b) -> Tensor { return f(a, b); }, nb::is_operator(), release);
}

/// f(number, tensor) for operations of two tensors.
template <class F>
void define_reflected(nb::class_<Tensor>& tensor, const char* name, const F& f) {
  tensor.def(
      name,
      [f](const Tensor& b, const Number& a) -> Tensor {
        return f(scalar(a, {result_type(b, a), b.device()}), b);
      },
      nb::is_operator(), release);
}

void bind_division(nb::class_<Tensor>& tensor) {
  const auto as_tensor = [](const Tensor& x, const Number& number) {
    return scalar(number, {result_type(x, number), x.device()});
  };
  define_operator(tensor, "__mod__", [](const Tensor& a, const auto& b) { return remainder(a, b); });
  define_reflected(tensor, "__rmod__", [](const Tensor& a, const Tensor& b) { return remainder(a, b); });
  tensor.def(
      "__floordiv__", [](const Tensor& a, const Tensor& b) { return floor_divide(a, b); }, nb::is_operator(), release);
  tensor.def(
      "__floordiv__", [=](const Tensor& a, const Number& b) { return floor_divide(a, as_tensor(a, b)); },
      nb::is_operator(), release);
  define_reflected(tensor, "__rfloordiv__", [](const Tensor& a, const Tensor& b) { return floor_divide(a, b); });
  const auto both = [](const Tensor& a, const Tensor& b) { return std::pair(floor_divide(a, b), remainder(a, b)); };
  tensor.def("__divmod__", both, nb::is_operator(), release);
  tensor.def(
      "__divmod__", [=](const Tensor& a, const Number& b) { return both(a, as_tensor(a, b)); }, nb::is_operator(),
      release);
  tensor.def(
      "__rdivmod__", [=](const Tensor& b, const Number& a) { return both(as_tensor(b, a), b); }, nb::is_operator(),
      release);
}

void bind_operators(nb::class_<Tensor>& tensor) {
  define_operator(tensor, "__add__", [](const Tensor& a, const auto& b) { return a + b; });
  define_operator(tensor, "__radd__", [](const Tensor& a, const auto& b) { return b + a; });
  define_operator(tensor, "__sub__", [](const Tensor& a, const auto& b) { return a - b; });
  define_operator(tensor, "__rsub__", [](const Tensor& a, const auto& b) { return b - a; });
  define_operator(tensor, "__mul__", [](const Tensor& a, const auto& b) { return a * b; });
  define_operator(tensor, "__rmul__", [](const Tensor& a, const auto& b) { return b * a; });
  define_operator(tensor, "__truediv__", [](const Tensor& a, const auto& b) { return a / b; });
  define_operator(tensor, "__rtruediv__", [](const Tensor& a, const auto& b) { return b / a; });
  bind_division(tensor);
  define_operator(tensor, "__pow__", [](const Tensor& a, const auto& b) { return pow(a, b); });
  define_reflected(tensor, "__rpow__", [](const Tensor& a, const Tensor& b) { return pow(a, b); });
  define_operator(tensor, "__eq__", [](const Tensor& a, const auto& b) { return eq(a, b); });
  define_operator(tensor, "__ne__", [](const Tensor& a, const auto& b) { return ne(a, b); });
  define_operator(tensor, "__lt__", [](const Tensor& a, const auto& b) { return lt(a, b); });
  define_operator(tensor, "__le__", [](const Tensor& a, const auto& b) { return le(a, b); });
  define_operator(tensor, "__gt__", [](const Tensor& a, const auto& b) { return gt(a, b); });
  define_operator(tensor, "__ge__", [](const Tensor& a, const auto& b) { return ge(a, b); });
  tensor.def(
      "__matmul__", [](const Tensor& a, const Tensor& b) { return matmul(a, b); }, nb::is_operator(), release);
  tensor.def(
      "__and__", [](const Tensor& a, const Tensor& b) { return logical_and(a, b); }, nb::is_operator(), release);
  tensor.def(
      "__or__", [](const Tensor& a, const Tensor& b) { return logical_or(a, b); }, nb::is_operator(), release);
  tensor.def(
      "__xor__", [](const Tensor& a, const Tensor& b) { return logical_xor(a, b); }, nb::is_operator(), release);
  tensor.def(
      "__invert__", [](const Tensor& x) { return logical_not(x); }, nb::is_operator(), release);
  tensor.def(
      "__pos__", [](const Tensor& x) { return x; }, nb::is_operator());
  tensor.def(
      "__neg__", [](const Tensor& x) { return -x; }, nb::is_operator(), release);
  tensor.def(
      "__abs__", [](const Tensor& x) { return abs(x); }, nb::is_operator(), release);
  // Without these, Python would compare identities.
  for (const char* const name : {"__eq__", "__ne__"}) define_fallback(tensor, name, "compared with");
  for (const char* const name :
       {"__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__pow__",
        "__rpow__", "__mod__", "__rmod__", "__floordiv__", "__rfloordiv__", "__matmul__", "__rmatmul__"})
    define_fallback(tensor, name, "combined with");
  tensor.def(
      "__contains__", [](const Tensor& self, const Tensor& value) { return any(eq(self, value)).item() != 0; },
      arg("value"));
  tensor.def(
      "__contains__", [](const Tensor& self, const Number& value) { return any(eq(self, value)).item() != 0; },
      arg("value"));
  tensor.def("__hash__", [](const Tensor& x) { return std::hash<const void*>()(x.ref().get()); });
}

/// In-place arithmetic, as methods and as +=, -=, *= and /=.
void bind_in_place(nb::class_<Tensor>& tensor) {
  const auto define = [&tensor](const char* method, const char* op, auto f) {
    const auto with_tensor = [f](Tensor& a, const Tensor& b) -> Tensor& { return f(a, b); };
    const auto with_number = [f](Tensor& a, const Number& b) -> Tensor& { return f(a, b); };
    const char* const doc =
        "In place; every handle and view of the memory sees it. Error (graph) where a gradient needs the old values.";
    tensor.def(method, with_tensor, arg("other"), nb::rv_policy::none, doc);
    tensor.def(method, with_number, arg("other"), nb::rv_policy::none, doc);
    tensor.def(op, with_tensor, nb::rv_policy::none, nb::is_operator());
    tensor.def(op, with_number, nb::rv_policy::none, nb::is_operator());
  };
  define("add_", "__iadd__", [](Tensor& a, const auto& b) -> Tensor& { return a.add_(b); });
  define("sub_", "__isub__", [](Tensor& a, const auto& b) -> Tensor& { return a.sub_(b); });
  define("mul_", "__imul__", [](Tensor& a, const auto& b) -> Tensor& { return a.mul_(b); });
  define("div_", "__itruediv__", [](Tensor& a, const auto& b) -> Tensor& { return a.div_(b); });
  tensor.def("fill_", &Tensor::fill_, arg("value"), nb::rv_policy::none, "Sets all values.");
  tensor.def("zero_", &Tensor::zero_, nb::rv_policy::none, "Sets all values to 0 or False.");
  tensor.def("copy_", &Tensor::copy_, arg("source"), nb::rv_policy::none,
             "Copies the values of a tensor of the same shape, in this dtype.");
}

void bind_gradients(nb::class_<Tensor>& tensor) {
  tensor.def_prop_rw(
      "requires_grad", &Tensor::requires_grad, [](Tensor& self, bool value) { self.requires_grad_(value); },
      "Whether gradients flow to this tensor. Can be set for a leaf.");
  tensor.def("requires_grad_", &Tensor::requires_grad_, arg("requires_grad") = true, nb::rv_policy::none,
             "Makes this a leaf whose gradient backward() accumulates in `grad`. Error for integers and bool.");
  tensor.def_prop_ro("is_leaf", &Tensor::is_leaf, "Whether the tensor is not the result of a recorded operation.");
  tensor.def_prop_rw(
      "grad",
      [](const Tensor& self) -> std::optional<Tensor> {
        Tensor gradient = self.grad();
        if (!gradient.defined()) return std::nullopt;
        return gradient;
      },
      [](Tensor& self, const std::optional<Tensor>& gradient) { self.set_grad(gradient.value_or(Tensor())); },
      arg("gradient").none(),
      "The accumulated gradient; None before a backward pass has reached the tensor. Can be replaced, and cleared with "
      "None.");
  tensor.def("zero_grad", &Tensor::zero_grad, "Clears `grad`.");
  tensor.def_prop_rw("data", &Tensor::detach, &Tensor::set_data, arg("values"),
                     "The same values without history, as detach(); can be replaced, as with set_data().");
  tensor.def("retain_grad", &Tensor::retain_grad, nb::rv_policy::none,
             "Makes backward() store the gradient of a non-leaf tensor in `grad`.");
  tensor.def(
      "backward",
      [](const Tensor& self, const std::optional<Tensor>& gradient, bool retain_graph, bool create_graph) {
        self.backward(
            {.gradient = gradient.value_or(Tensor()), .retain_graph = retain_graph, .create_graph = create_graph});
      },
      arg("gradient").none() = nb::none(), nb::kw_only(), arg("retain_graph") = false, arg("create_graph") = false,
      release,
      "Computes the gradients of this tensor with respect to every leaf it depends on, and adds them to their "
      "`grad`.\n\n"
      "`gradient` is the seed, of this tensor's shape; ones for a tensor with one element. `retain_graph` keeps the "
      "saved values for\n"
      "another backward pass, `create_graph` records this one for higher derivatives.");
  tensor.def(
      "register_hook",
      [](Tensor& self, std::function<std::optional<Tensor>(const Tensor&)> hook) {
        return self.register_hook([hook = std::move(hook)](const Tensor& gradient) {
          return call_hook(hook, "a tensor", gradient).value_or(Tensor());
        });
      },
      arg("hook"),
      "Calls hook(gradient) in each backward pass; a tensor that it returns replaces the gradient. Returns an id for "
      "remove_hook().");
  tensor.def("remove_hook", &Tensor::remove_hook, arg("handle"), "Does nothing if the hook was already removed.");
}

void bind_shapes(nb::class_<Tensor>& tensor) {
  tensor.def_prop_ro("shape", &Tensor::shape, "Sizes of the axes, outermost first.");
  tensor.def_prop_ro("ndim", &Tensor::rank, "Number of axes; 0 for a scalar.");
  tensor.def_prop_ro("dtype", &Tensor::dtype, "Element type.");
  tensor.def_prop_ro("device", &Tensor::device, "Where the values are: 'cpu', 'cuda' or 'cuda:1'.");
  tensor.def_prop_ro("version", &Tensor::version, "Number of in-place writes to the memory.");
  tensor.def_prop_ro(
      "T", [](const Tensor& self) { return transpose(self); }, "The last two axes swapped.");
  tensor.def("numel", &Tensor::numel, "Number of elements; 1 for a scalar.");
  tensor.def(
      "size", [](const Tensor& self) { return self.shape(); }, "The shape.");
  tensor.def("size", &Tensor::size, arg("axis"), "Size of one axis, counted from the back if negative.");
  const auto reshaped = [](const char* operation) {
    return [operation](const Tensor& self, const nb::args& sizes) { return reshape(self, sizes_of(sizes, operation)); };
  };
  tensor.def("reshape", reshaped("reshape"), arg("sizes"),
             "The same values in another shape, as a view; one size may be -1. Error (shape) if the sizes differ.");
  tensor.def("view", reshaped("view"), arg("sizes"), "Same as reshape(), since tensors are always contiguous.");
  tensor.def(
      "permute", [](const Tensor& self, const nb::args& axes) { return permute(self, sizes_of(axes, "permute")); },
      arg("axes"), "The axes in another order: x.permute(0, 2, 1).");
  tensor.def(
      "expand", [](const Tensor& self, const nb::args& sizes) { return expand(self, sizes_of(sizes, "expand")); },
      arg("sizes"), "Repeats axes of size 1; -1 keeps a size.");
}

}  // namespace

void bind_tensor(nb::class_<Tensor>& tensor) {
  bind_operators(tensor);
  bind_in_place(tensor);
  bind_gradients(tensor);
  bind_shapes(tensor);
  tensor.def("__getitem__", &get_item, arg("key").none());
  tensor.def("__setitem__", &set_item, arg("key").none(), arg("value"));
  tensor.def(
      "index_put",
      [](const Tensor& self, nb::handle key, const Tensor& values) {
        return index_put(self, items_of(key, self.device()), values);
      },
      arg("key").none(), arg("values"), "A copy with other values at x[key]; gradients flow to both.");
  tensor.def("__len__", [](const Tensor& self) {
    if (self.rank() == 0) raise(ErrorKind::shape, "len: a tensor without axes has no length");
    return self.size(0);
  });
  tensor.def("__iter__", [](const Tensor& self) {
    nb::list rows;
    if (self.rank() == 0) raise(ErrorKind::shape, "iter: a tensor without axes has no rows");
    for (int64_t i = 0; i < self.size(0); ++i) rows.append(self[i]);
    return nb::iter(rows);
  });
  tensor.def("__bool__", [](const Tensor& self) { return self.item() != 0; });
  tensor.def("__float__", [](const Tensor& self) { return self.item(); });
  tensor.def("__int__", [](const Tensor& self) { return self.item<int64_t>(); });
  tensor.def("__index__", [](const Tensor& self) {
    if (!is_integral(self.dtype())) raise(ErrorKind::dtype, "index: a {} tensor is no index", to_string(self.dtype()));
    return self.item<int64_t>();
  });
  tensor.def("__format__", [](const Tensor& self, const std::string& spec) {
    const nb::object object = nb::cast(self);
    const nb::object value = spec.empty() || self.rank() > 0 ? nb::str(object) : object.attr("item")();
    return nb::module_::import_("builtins").attr("format")(value, spec);
  });
  tensor.def("__repr__", [](const Tensor& self) { return to_string(self); });
  tensor.def(
      "to", [](const Tensor& self, DType dtype) { return self.to(dtype); }, arg("dtype"), release,
      "The values in another dtype; gradients flow between floating dtypes.");
  tensor.def(
      "to", [](const Tensor& self, Device device) { return self.to(device); }, arg("device"), release,
      "The values on another device, 'cpu' or 'cuda'; gradients flow back.");
  tensor.def(
      "cpu", [](const Tensor& self) { return self.to(cpu); }, release, "The values on the CPU.");
  tensor.def(
      "cuda", [](const Tensor& self) { return self.to(cuda); }, release, "The values on the first GPU.");
  tensor.def(
      "float", [](const Tensor& self) { return self.to(f32); }, release, "The values as f32.");
  tensor.def(
      "double", [](const Tensor& self) { return self.to(f64); }, release, "The values as f64.");
  tensor.def(
      "long", [](const Tensor& self) { return self.to(i64); }, release, "The values as i64.");
  tensor.def(
      "bool", [](const Tensor& self) { return self.to(boolean); }, release, "The values as bool.");
  tensor.def("detach", &Tensor::detach, "The same values without history.");
  tensor.def("clone", &Tensor::clone, release, "A copy of the values; gradients flow through it.");
  tensor.def(
      "contiguous", [](const Tensor& self) { return self; }, "The tensor itself: tensors are always contiguous.");
  tensor.def("pin_memory", &Tensor::pin_memory, release,
             "A copy in pinned memory, from which a GPU copies at full speed.");
  tensor.def("is_same", &Tensor::is, arg("other"), "Whether both are handles of the same tensor.");
  tensor.def("shares_storage", &Tensor::shares_storage, arg("other"), "Whether both use the same memory.");
  tensor.def("set_data", &Tensor::set_data, arg("values"),
             "Replaces values, shape and dtype for all handles of this tensor.");
  tensor.def("__copy__", [](const Tensor& self) {
    if (!self.is_leaf()) return self;
    Tensor copy = self.detach();
    if (self.requires_grad()) copy.requires_grad_(true);
    return copy;
  });
  tensor.def("__deepcopy__", [](const Tensor& self, nb::handle) {
    if (!self.is_leaf()) raise(ErrorKind::graph, "deepcopy: only leaves can be copied; use x.detach().clone()");
    Tensor copy = self.detach().clone();
    if (self.requires_grad()) copy.requires_grad_(true);
    return copy;
  });
}

}  // namespace tape::python
