#include "autograd/kernels/elementwise/unary.h"

#include "autograd/cuda/launch/dropped.h"
#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

template <const ValueKernels& kernels, class T>
void forward(int64_t n, const T* x, T* y) {
  launch_packs(kernels.of<T>(), n, sizeof(T), x, y);
}
template <const ValueKernels& kernels, class T>
void backward(int64_t n, const T* value, const T* dy, T* dx) {
  launch_packs(kernels.of<T>(), n, sizeof(T), value, dy, dx);
}

template <const ValueKernels& kernels, class T>
void backward_dropped(int64_t n, const T* value, const T* dz, const Dropout& dropout, T* dx) {
  launch_packs(kernels.of<T>(), n, sizeof(T), value, dz, dropped_by<T>(dropout), dx);
}

/// A function whose derivative is composed of other operations on the value it reads.
template <const ValueKernels& value>
constexpr UnaryKernel row(Reads reads) {
  return {
      reads, {forward<value, float>, nullptr}, {forward<value, double>, nullptr}, {forward<value, BFloat16>, nullptr}};
}
template <const ValueKernels& value, const ValueKernels& slope>
constexpr UnaryKernel row(Reads reads) {
  return {reads,
          {forward<value, float>, backward<slope, float>},
          {forward<value, double>, backward<slope, double>},
          {forward<value, BFloat16>, backward<slope, BFloat16>}};
}

template <const ValueKernels& value, const ValueKernels& slope, const ValueKernels& dropped>
constexpr UnaryKernel row(Reads reads) {
  return {reads,
          {forward<value, float>, backward<slope, float>, backward_dropped<dropped, float>},
          {forward<value, double>, backward<slope, double>, backward_dropped<dropped, double>},
          {forward<value, BFloat16>, backward<slope, BFloat16>, backward_dropped<dropped, BFloat16>}};
}

}  // namespace

// The kernels of a function, as one row of the table.
#define TAPE_UNARY(name, reads)                                             \
  namespace {                                                               \
  constinit const ValueKernels k_##name = TAPE_VALUE_KERNELS(unary_##name); \
  constexpr UnaryKernel name##_row = row<k_##name>(reads);                  \
  }
#define TAPE_UNARY_WITH_SLOPE(name, reads)                                                        \
  namespace {                                                                                     \
  constinit const ValueKernels k_##name = TAPE_VALUE_KERNELS(unary_##name);                       \
  constinit const ValueKernels k_##name##_backward = TAPE_VALUE_KERNELS(unary_##name##_backward); \
  constexpr UnaryKernel name##_row = row<k_##name, k_##name##_backward>(reads);                   \
  }
#define TAPE_ACTIVATION(name, reads)                                                                              \
  namespace {                                                                                                     \
  constinit const ValueKernels k_##name = TAPE_VALUE_KERNELS(unary_##name);                                       \
  constinit const ValueKernels k_##name##_backward = TAPE_VALUE_KERNELS(unary_##name##_backward);                 \
  constinit const ValueKernels k_##name##_backward_dropped = TAPE_VALUE_KERNELS(unary_##name##_backward_dropped); \
  constexpr UnaryKernel name##_row = row<k_##name, k_##name##_backward, k_##name##_backward_dropped>(reads);      \
  }
TAPE_UNARY(neg, Reads::nothing)
TAPE_UNARY(abs, Reads::x)
TAPE_UNARY(sign, Reads::nothing)
TAPE_UNARY(square, Reads::x)
TAPE_UNARY(reciprocal, Reads::y)
TAPE_UNARY(exp, Reads::y)
TAPE_UNARY(log, Reads::x)
TAPE_UNARY(sqrt, Reads::y)
TAPE_UNARY(rsqrt, Reads::y)
TAPE_UNARY(sin, Reads::x)
TAPE_UNARY(cos, Reads::x)
TAPE_UNARY_WITH_SLOPE(tanh, Reads::y)
TAPE_UNARY_WITH_SLOPE(sigmoid, Reads::y)
TAPE_UNARY(erf, Reads::x)
TAPE_ACTIVATION(relu, Reads::y)
TAPE_ACTIVATION(gelu, Reads::x)
TAPE_ACTIVATION(gelu_tanh, Reads::x)
TAPE_ACTIVATION(silu, Reads::x)
TAPE_UNARY_WITH_SLOPE(log1p, Reads::x)
TAPE_UNARY_WITH_SLOPE(log2, Reads::x)
TAPE_UNARY_WITH_SLOPE(log10, Reads::x)
TAPE_UNARY_WITH_SLOPE(expm1, Reads::y)
TAPE_UNARY_WITH_SLOPE(exp2, Reads::y)
TAPE_UNARY_WITH_SLOPE(sinh, Reads::x)
TAPE_UNARY_WITH_SLOPE(cosh, Reads::x)
TAPE_UNARY_WITH_SLOPE(atanh, Reads::x)
TAPE_UNARY_WITH_SLOPE(mish, Reads::x)
TAPE_UNARY_WITH_SLOPE(tan, Reads::y)
TAPE_UNARY_WITH_SLOPE(asin, Reads::x)
TAPE_UNARY_WITH_SLOPE(acos, Reads::x)
TAPE_UNARY_WITH_SLOPE(atan, Reads::x)
TAPE_UNARY(round, Reads::nothing)
TAPE_UNARY(floor, Reads::nothing)
TAPE_UNARY(ceil, Reads::nothing)
TAPE_UNARY(trunc, Reads::nothing)
TAPE_UNARY(frac, Reads::nothing)

extern const UnaryKernels unary = {
    .neg = neg_row,
    .abs = abs_row,
    .sign = sign_row,
    .square = square_row,
    .reciprocal = reciprocal_row,
    .exp = exp_row,
    .log = log_row,
    .sqrt = sqrt_row,
    .rsqrt = rsqrt_row,
    .sin = sin_row,
    .cos = cos_row,
    .tanh = tanh_row,
    .sigmoid = sigmoid_row,
    .erf = erf_row,
    .relu = relu_row,
    .gelu = gelu_row,
    .gelu_tanh = gelu_tanh_row,
    .silu = silu_row,
    .log1p = log1p_row,
    .log2 = log2_row,
    .log10 = log10_row,
    .expm1 = expm1_row,
    .exp2 = exp2_row,
    .sinh = sinh_row,
    .cosh = cosh_row,
    .atanh = atanh_row,
    .mish = mish_row,
    .tan = tan_row,
    .asin = asin_row,
    .acos = acos_row,
    .atan = atan_row,
    .round = round_row,
    .floor = floor_row,
    .ceil = ceil_row,
    .trunc = trunc_row,
    .frac = frac_row,
};

}  // namespace tape::kernels::cuda
#undef TAPE_UNARY
#undef TAPE_UNARY_WITH_SLOPE
#undef TAPE_ACTIVATION
