#include "autograd/kernels/elementwise/elementwise.h"

#include "autograd/cuda/launch/broadcast.h"
#include "autograd/kernels/runtime/common/missing.h"

namespace tape::kernels::cuda {
namespace {

// In the order of Binary, Compare and Class.
constinit const FloatKernels kBinary[] = {
    TAPE_FLOAT_KERNELS(binary_add),     TAPE_FLOAT_KERNELS(binary_sub),       TAPE_FLOAT_KERNELS(binary_mul),
    TAPE_FLOAT_KERNELS(binary_div),     TAPE_FLOAT_KERNELS(binary_pow),       TAPE_FLOAT_KERNELS(binary_maximum),
    TAPE_FLOAT_KERNELS(binary_minimum), TAPE_FLOAT_KERNELS(binary_remainder), TAPE_FLOAT_KERNELS(binary_atan2)};
constinit const Kernel kBf16Binary[] = {Kernel("binary_add_bf16"), Kernel("binary_sub_bf16"),
                                        Kernel("binary_mul_bf16")};
constinit const FloatKernels kCompare[] = {TAPE_FLOAT_KERNELS(compare_eq), TAPE_FLOAT_KERNELS(compare_ne),
                                           TAPE_FLOAT_KERNELS(compare_lt), TAPE_FLOAT_KERNELS(compare_le),
                                           TAPE_FLOAT_KERNELS(compare_gt), TAPE_FLOAT_KERNELS(compare_ge)};
constinit const FloatKernels kClassify[] = {TAPE_FLOAT_KERNELS(classify_finite), TAPE_FLOAT_KERNELS(classify_infinite),
                                            TAPE_FLOAT_KERNELS(classify_nan)};
constinit const FloatKernels kLerp = TAPE_FLOAT_KERNELS(lerp), kPowScalar = TAPE_FLOAT_KERNELS(pow_scalar);
constinit const ValueKernels kAffine = TAPE_VALUE_KERNELS(affine), kScaleBy = TAPE_VALUE_KERNELS(scale_by);
constinit const ValueKernels kAccumulate = TAPE_VALUE_KERNELS(accumulate);
constinit const SizedKernels kSelect = TAPE_SIZED_KERNELS(select);

template <class T>
void binary(Binary op, const Broadcast& plan, const T* a, const T* b, T* out) {
  launch_pairs(kBinary[static_cast<int>(op)].of<T>(), plan, a, b, out);
}

/// add, sub and mul; operations compute the others in f32.
void bf16_binary(Binary op, const Broadcast& plan, const BFloat16* a, const BFloat16* b, BFloat16* out) {
  launch_pairs(kBf16Binary[static_cast<int>(op)], plan, a, b, out);
}

template <class T>
void compare(Compare op, const Broadcast& plan, const T* a, const T* b, bool* out) {
  launch_pairs(kCompare[static_cast<int>(op)].of<T>(), plan, a, b, out);
}

template <class T>
void where(const Broadcast& plan, const bool* c, const T* a, const T* b, T* out) {
  select(plan, sizeof(T), c, a, b, out);
}

template <class T>
void lerp(const Broadcast& plan, const T* a, const T* b, const T* w, T* out) {
  launch_broadcast(kLerp.of<T>(), plan, a, b, w, out);
}

template <class T>
void classify(Class kind, int64_t n, const T* x, bool* out) {
  launch_elements(kClassify[static_cast<int>(kind)].of<T>(), n, n, x, out);
}

template <class T>
void affine(int64_t n, const T* x, double scale, double shift, T* y) {
  launch_packs(kAffine.of<T>(), n, sizeof(T), x, static_cast<Sum<T>>(scale), static_cast<Sum<T>>(shift), y);
}

template <class T>
void pow_scalar(int64_t n, const T* x, double exponent, T* y) {
  launch_packs(kPowScalar.of<T>(), n, sizeof(T), x, static_cast<T>(exponent), y);
}

template <class T>
void scale_by(int64_t n, const T* x, const Sum<T>* factor, T* y) {
  launch_packs(kScaleBy.of<T>(), n, sizeof(T), x, factor, y);
}

template <class T>
void accumulate(int64_t n, const T* x, double scale, T* y) {
  launch_packs(kAccumulate.of<T>(), n, sizeof(T), x, static_cast<Sum<T>>(scale), y);
}

}  // namespace

void select(const Broadcast& plan, int64_t element_size, const bool* c, const void* a, const void* b, void* out) {
  launch_broadcast(kSelect.of(element_size), plan, c, a, b, out);
}

TAPE_DEFINE_TABLES(ElementwiseKernels, elementwise, .binary = binary<T>, .compare = compare<T>, .where = where<T>,
                   .lerp = lerp<T>, .classify = classify<T>, .affine = affine<T>, .pow_scalar = pow_scalar<T>,
                   .scale_by = scale_by<T>, .accumulate = accumulate<T>)
extern const ElementwiseKernels<BFloat16> elementwise_bf16 = {.binary = bf16_binary,
                                                              .compare = missing,
                                                              .where = missing,
                                                              .lerp = missing,
                                                              .classify = missing,
                                                              .affine = affine<BFloat16>,
                                                              .pow_scalar = missing,
                                                              .scale_by = scale_by<BFloat16>,
                                                              .accumulate = accumulate<BFloat16>};

}  // namespace tape::kernels::cuda
