#pragma once

#include <initializer_list>

#include "number.h"
#include "options.h"
#include "random.h"
#include "tensor.h"

namespace tape {

Tensor empty(const Shape& shape, const TensorOptions& options = {});  ///< uninitialized values
Tensor zeros(const Shape& shape, const TensorOptions& options = {});  ///< 0 or false everywhere
Tensor ones(const Shape& shape, const TensorOptions& options = {});   ///< 1 or true everywhere
/// `value` everywhere. Throws Error (numeric) if an integer dtype cannot represent it.
Tensor full(const Shape& shape, const Number& value, const TensorOptions& options = {});
/// empty(), zeros(), ones() or full() of the shape, dtype and device of x.
/// @{
Tensor empty_like(const Tensor& x);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, const Number& value);
/// @}
/// A tensor of rank 0.
Tensor scalar(const Number& value, const TensorOptions& options = {});
/// start, start + step, ... up to but excluding end. Throws Error (config) if step is 0 or leads away from end.
Tensor arange(double start, double end, double step = 1, const TensorOptions& options = i64);
/// 0, 1, ..., end - 1. Throws Error (config) for a negative end.
inline Tensor arange(int64_t end, const TensorOptions& options = i64) {
  return arange(0, static_cast<double>(end), 1, options);
}
/// `count` evenly spaced values from start to end, both inclusive. Throws Error (config) unless both are finite.
Tensor linspace(double start, double end, int64_t count, const TensorOptions& options = {});
/// The identity matrix [n, n].
Tensor eye(int64_t n, const TensorOptions& options = {});

/// Numbers in nested braces, the argument of tensor().
class Values {
 public:
  Values(double value) : value_(value) {}                                      ///< one number
  Values(std::initializer_list<Values> list) : list_(list), is_list_(true) {}  ///< a list of numbers or lists

  bool is_list() const { return is_list_; }                  ///< whether made from braces
  double value() const { return value_; }                    ///< the number; 0 for a list
  const std::vector<Values>& list() const { return list_; }  ///< the list's items; empty for a number

 private:
  double value_ = 0;
  std::vector<Values> list_;
  bool is_list_ = false;
};

/// Values in braces: tensor({1, 2, 3}), tensor({{1, 2}, {3, 4}}, f64). Throws Error (shape) if rows differ in length.
Tensor tensor(std::initializer_list<Values> values, const TensorOptions& options = {});

/// Copies row-major values to default_device(); T is the C++ type of a dtype. Throws Error if the counts differ.
template <class T>
Tensor from_values(const T* values, int64_t count, const Shape& shape);
/// The same for a vector.
template <class T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape) {
  return from_values(values.data(), static_cast<int64_t>(values.size()), shape);
}
/// The same, converted to the dtype and on the device of `options` as by Tensor::to().
template <class T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape, const TensorOptions& options) {
  return from_vector(values, shape).to(options);
}
/// The same of shape [values.size()].
template <class T>
Tensor from_vector(const std::vector<T>& values) {
  return from_vector(values, {static_cast<int64_t>(values.size())});
}
/// Wraps external memory of the host without copying it; `release(owner)` is called when the last handle is destroyed.
Tensor from_blob(void* data, const Shape& shape, DType dtype, void* owner, void (*release)(void* owner));

/// Standard normal values, f32 or f64 (Error (dtype)), from the given generator or the init stream.
/// @{
Tensor randn(const Shape& shape, const TensorOptions& options = {});
Tensor randn(const Shape& shape, const TensorOptions& options, Generator& generator);
/// @}
/// Uniform in [0, 1), f32 or f64 (Error (dtype)), from the given generator or the init stream.
/// @{
Tensor rand(const Shape& shape, const TensorOptions& options = {});
Tensor rand(const Shape& shape, const TensorOptions& options, Generator& generator);
/// @}
/// randn() or rand() of the shape, dtype and device of x.
/// @{
Tensor randn_like(const Tensor& x);
Tensor rand_like(const Tensor& x);
/// @}
/// Uniform integers in [low, high), i64, from the given generator or the init stream. Throws Error (config) unless low
/// is below high.
/// @{
Tensor randint(int64_t low, int64_t high, const Shape& shape);
Tensor randint(int64_t low, int64_t high, const Shape& shape, Generator& generator);
/// @}
/// 0 .. n-1 in random order (Fisher-Yates), i64 [n], from the given generator or the shuffle stream.
/// @{
Tensor randperm(int64_t n);
Tensor randperm(int64_t n, Generator& generator);
/// @}

}  // namespace tape
