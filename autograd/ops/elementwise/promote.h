#pragma once

#include "../../number.h"
#include "../../tensor.h"
#include "cast.h"

// How operands of different dtypes come together, and how values that are only stored in a dtype are computed with.
namespace tape {

/// The dtype of an operation on two tensors (torch.result_type): promote_types of theirs, except that a tensor without
/// axes counts beside one with axes only where it is of a higher kind (bool, whole, floating): f32 [3] with f64 [] is
/// f32, i64 [3] with f32 [] is f32.
DType result_type(const Tensor& a, const Tensor& b);
/// The dtype of an operation on a tensor and a number: the tensor's, unless the number is of a higher kind, then i64 or
/// f32: i32 with 2 is i32, i32 with 2.0 is f32, bool with 2 is i64.
DType result_type(const Tensor& x, const Number& number);

/// Whether values of a dtype may be written to a tensor of another in place (torch.can_cast): not floating ones as
/// whole ones, and neither as bool.
bool can_cast(DType from, DType to);

/// Whether two tensors are of one dtype, which kernels compute in.
inline bool same_computed(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && computed_in(a.dtype()) == a.dtype();
}

/// f(a, b) of both in `result`, in the dtype that its values are computed in, and what comes out in `result` again:
/// halves are rounded to the nearest, whole numbers wrap. The casts are recorded, so each gradient comes back in its
/// own dtype.
template <class F>
Tensor promoted(const Tensor& a, const Tensor& b, DType result, const F& f) {
  const DType dtype = computed_in(result);
  return cast(f(cast(cast(a, result), dtype), cast(cast(b, result), dtype)), result);
}

/// f(x, others...) of tensors of one dtype, f16 and bf16 in f32 and rounded back: for what is made of operations, each
/// of which would round.
template <class F, class... Others>
Tensor in_wide(const F& f, const Tensor& x, const Others&... others) {
  const DType wide = computed_in(x.dtype());
  return cast(f(cast(x, wide), cast(others, wide)...), x.dtype());
}

}  // namespace tape
