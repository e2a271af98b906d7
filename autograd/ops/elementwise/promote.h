#pragma once

#include "../../kernels/runtime/common/isa.h"
#include "../../number.h"
#include "../../tensor.h"
#include "cast.h"

// Type promotion, and compute dtypes for dtypes that are only used for storage.
namespace tape {

/// Result dtype of an operation on two tensors (torch.result_type): promote_types of theirs, except that a tensor
/// without axes only counts against one with axes if it is of a higher category (bool, integer, floating): f32 [3] with
/// f64 [] is f32, i64 [3] with f32 [] is f32.
DType result_type(const Tensor& a, const Tensor& b);
/// Result dtype of an operation on a tensor and a scalar: the tensor's, unless the scalar is of a higher category; then
/// i64 or f32. i32 with 2 is i32, i32 with 2.0 is f32, bool with 2 is i64.
DType result_type(const Tensor& x, const Number& number);

/// Whether values of one dtype may be written in place to a tensor of another (torch.can_cast): not floating to
/// integer, and neither to bool.
bool can_cast(DType from, DType to);

namespace detail {
/// Whether x / number may be x * (1 / number) for x of a floating dtype: if that has the same bits, since the number is
/// a power of two, or if x is a half, which is computed in f32 and rounded.
bool divides_by_product(double number, DType dtype);
}  // namespace detail

/// Whether two tensors have the same dtype and kernels compute in it.
inline bool same_compute_dtype(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && compute_dtype(a.dtype()) == a.dtype();
}

/// Whether kernels add, subtract and multiply two tensors as they are: of the same dtype, which may be bf16 where there
/// are kernels for it.
inline bool same_arithmetic_dtype(const Tensor& a, const Tensor& b) {
  return same_compute_dtype(a, b) ||
         (a.dtype() == bf16 && b.dtype() == bf16 && kernels::has_bf16_kernels(kernels::Target{a.device()}));
}

/// f(a, b) with both cast to `result`, computed in its compute dtype and cast back: f16 and bf16 round to nearest,
/// integers wrap. The casts are recorded, so gradients have each operand's dtype.
template <class F>
Tensor promoted(const Tensor& a, const Tensor& b, DType result, const F& f) {
  const DType dtype = compute_dtype(result);
  return cast(f(cast(cast(a, result), dtype), cast(cast(b, result), dtype)), result);
}

/// f(x, others...) for tensors of one dtype, with f16 and bf16 computed in f32 and rounded once. For composite
/// operations, each step of which would round.
template <class F, class... Others>
Tensor in_compute_dtype(const F& f, const Tensor& x, const Others&... others) {
  const DType wide = compute_dtype(x.dtype());
  return cast(f(cast(x, wide), cast(others, wide)...), x.dtype());
}

}  // namespace tape
