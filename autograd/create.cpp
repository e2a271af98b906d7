#include "autograd/create.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "autograd/device_memory.h"
#include "autograd/kernels/shape/common/copy.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/random_call.h"

namespace tape {

Tensor empty(const Shape& shape, const TensorOptions& options) {
  const int64_t bytes = shape.numel() * size_of(options.dtype);
  return Tensor(Ref(new TensorImpl(Storage::allocate(bytes, options.device), 0, shape, options.dtype)));
}

Tensor zeros(const Shape& shape, const TensorOptions& options) {
  Tensor x = empty(shape, options);
  const int64_t bytes = x.impl().storage->bytes();
  if (options.device.is_cpu())
    std::memset(x.raw(), 0, static_cast<size_t>(bytes));
  else
    device_memory::clear(options.device, x.device_raw(), bytes);
  return x;
}

namespace {

Tensor filled(const char* operation, const Shape& shape, const Number& value, const TensorOptions& options) {
  Tensor x = empty(shape, options);
  const uint64_t element =
      dispatch_all(options.dtype, [&]<class T>(T) -> uint64_t { return kernels::element_of(value.to<T>(operation)); });
  run_kernels(operation, options.device, [&](const KernelCall& at) {
    kernels::copy(at).fill(x.numel(), size_of(options.dtype), element, at.out(x));
  });
  return x;
}

/// Value i of arange() in an integer dtype.
template <class T>
T whole_value(double start, double step, int64_t i) {
  return Number(static_cast<int64_t>(start) + i * static_cast<int64_t>(step)).to<T>("arange");
}

}  // namespace

Tensor full(const Shape& shape, const Number& value, const TensorOptions& options) {
  return filled("full", shape, value, options);
}
Tensor ones(const Shape& shape, const TensorOptions& options) { return full(shape, 1, options); }
Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.options()); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.options()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.options()); }
Tensor full_like(const Tensor& x, const Number& value) { return full(x.shape(), value, x.options()); }
Tensor scalar(const Number& value, const TensorOptions& options) { return filled("scalar", {}, value, options); }

Tensor arange(double start, double end, double step, const TensorOptions& options) {
  if (!(step != 0) || !std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step) || (end - start) / step < 0)
    raise(ErrorKind::config, "arange: step {} does not lead from {} to {}", step, start, end);
  const double count = std::ceil((end - start) / step);
  if (count > 1e15) raise(ErrorKind::config, "arange: {} values requested, more than 1e15", count);
  const auto n = static_cast<int64_t>(count);
  const bool floating = is_floating(options.dtype);
  constexpr double kExact = 9007199254740992;  // 2^53
  for (const double value : {start, step})
    if (!floating && (value != std::trunc(value) || std::abs(value) > kExact))
      raise(ErrorKind::config, "arange: {} needs integers of at most 2^53, got start {} and step {}",
            to_string(options.dtype), start, step);
  const Tensor x = empty({n}, {options.dtype, cpu});
  dispatch_all(options.dtype, [&]<class T>(T) {
    T* values = static_cast<T*>(x.raw());
    for (int64_t i = 0; i < n; ++i)
      values[i] = floating ? static_cast<T>(start + step * static_cast<double>(i)) : whole_value<T>(start, step, i);
  });
  return x.to(options.device);
}

Tensor linspace(double start, double end, int64_t count, const TensorOptions& options) {
  if (count < 0) raise(ErrorKind::config, "linspace: count must not be negative, got {}", count);
  if (!std::isfinite(start) || !std::isfinite(end))
    raise(ErrorKind::config, "linspace: start and end must be finite, got {} and {}", start, end);
  Tensor x = empty({count}, {options.dtype, cpu});
  dispatch_floating("linspace", options.dtype, [&]<class T>(T) {
    T* values = static_cast<T*>(x.raw());
    const double steps = static_cast<double>(std::max<int64_t>(count - 1, 1)), step = (end - start) / steps;
    const auto value = [&](double i) {
      if (!std::isfinite(step)) return start * (1 - i / steps) + end * (i / steps);  // end - start overflows
      return start + step * i;
    };
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<T>(i + 1 == count && count > 1 ? end : value(static_cast<double>(i)));
  });
  return x.to(options.device);
}

Tensor eye(int64_t n, const TensorOptions& options) {
  const Tensor x = zeros({n, n}, {options.dtype, cpu});
  dispatch_all(options.dtype, [&]<class T>(T) {
    T* values = static_cast<T*>(x.raw());
    for (int64_t i = 0; i < n; ++i) values[i * (n + 1)] = T(1);
  });
  return x.to(options.device);
}

namespace {

/// Sizes of nested lists, taken from the first entry of each.
Shape nested_shape(const std::vector<Values>& list) {
  std::vector<int64_t> sizes{std::ssize(list)};
  for (const std::vector<Values>* inner = &list; !inner->empty() && inner->front().is_list();) {
    inner = &inner->front().list();
    sizes.push_back(std::ssize(*inner));
  }
  return Shape(sizes);
}

void flatten_into(std::vector<double>& flat, const std::vector<Values>& list, const Shape& shape, int64_t axis) {
  if (std::ssize(list) != shape[axis])
    raise(ErrorKind::shape, "tensor: rows have different lengths: {} and {}", shape[axis], list.size());
  for (const Values& entry : list) {
    const bool innermost = axis + 1 == shape.rank();
    if (entry.is_list() == innermost) raise(ErrorKind::shape, "tensor: a list mixes numbers and lists");
    if (innermost)
      flat.push_back(entry.value());
    else
      flatten_into(flat, entry.list(), shape, axis + 1);
  }
}

}  // namespace

Tensor tensor(std::initializer_list<Values> values, const TensorOptions& options) {
  const std::vector<Values> list(values);
  const Shape shape = nested_shape(list);
  std::vector<double> flat;
  flatten_into(flat, list, shape, 0);
  return from_vector(flat, shape, options);
}

template <class T>
Tensor from_values(const T* values, int64_t count, const Shape& shape) {
  if (count != shape.numel())
    raise(ErrorKind::shape, "from_values: {} values for shape {} ({} elements)", count, to_string(shape),
          shape.numel());
  Tensor x = empty(shape, {dtype_of<T>, cpu});
  if (count > 0) std::memcpy(x.raw(), values, static_cast<size_t>(count) * sizeof(T));
  const Device device = default_device();
  // A GPU copies from pinned memory while the host goes on.
  return device.is_cpu() ? x : x.pin_memory().to(device);
}
template Tensor from_values(const float*, int64_t, const Shape&);
template Tensor from_values(const double*, int64_t, const Shape&);
template Tensor from_values(const Half*, int64_t, const Shape&);
template Tensor from_values(const BFloat16*, int64_t, const Shape&);
template Tensor from_values(const int64_t*, int64_t, const Shape&);
template Tensor from_values(const int32_t*, int64_t, const Shape&);
template Tensor from_values(const uint8_t*, int64_t, const Shape&);
template Tensor from_values(const bool*, int64_t, const Shape&);

Tensor from_blob(void* data, const Shape& shape, DType dtype, void* owner, void (*release)(void* owner)) {
  const int64_t bytes = shape.numel() * size_of(dtype);
  return Tensor(Ref(new TensorImpl(Storage::borrow(data, bytes, owner, release), 0, shape, dtype)));
}

Tensor randn(const Shape& shape, const TensorOptions& options) {
  return randn(shape, options, generator(Stream::init));
}
Tensor randn(const Shape& shape, const TensorOptions& options, Generator& stream) {
  Tensor x = empty(shape, options);
  fill_by_kernel("randn", x, stream, [](const auto& table, int64_t n, uint64_t seed, uint64_t counter, auto* values) {
    table.normal(n, seed, counter, 0, 1, values);
  });
  return x;
}

Tensor rand(const Shape& shape, const TensorOptions& options) { return rand(shape, options, generator(Stream::init)); }
Tensor rand(const Shape& shape, const TensorOptions& options, Generator& stream) {
  Tensor x = empty(shape, options);
  fill_by_kernel("rand", x, stream, [](const auto& table, int64_t n, uint64_t seed, uint64_t counter, auto* values) {
    table.uniform(n, seed, counter, 0, 1, values);
  });
  return x;
}

Tensor randn_like(const Tensor& x) { return randn(x.shape(), x.options()); }
Tensor rand_like(const Tensor& x) { return rand(x.shape(), x.options()); }

Tensor randint(int64_t low, int64_t high, const Shape& shape) {
  return randint(low, high, shape, generator(Stream::init));
}
Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator& stream) {
  if (high <= low) raise(ErrorKind::config, "randint: low must be less than high, got {} and {}", low, high);
  int64_t range = 0;
  if (__builtin_sub_overflow(high, low, &range))
    raise(ErrorKind::config, "randint: the range from {} to {} has more than 2^63 - 1 values", low, high);
  Tensor x = empty(shape, {i64, cpu});
  int64_t* values = x.mutable_data<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) values[i] = low + stream.below(range);
  return x.to(default_device());
}

Tensor randperm(int64_t n) { return randperm(n, generator(Stream::shuffle)); }
Tensor randperm(int64_t n, Generator& stream) {
  Tensor x = arange(n, {i64, cpu});
  int64_t* values = x.mutable_data<int64_t>();
  for (int64_t i = n - 1; i > 0; --i) std::swap(values[i], values[stream.below(i + 1)]);
  return x.to(default_device());
}

}  // namespace tape
