#include "autograd/kernels/attention/rotary.h"

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const ValueKernels kRotary = TAPE_VALUE_KERNELS(rotary);

template <class T>
void turn(const RotaryShape& r, const T* x, const Sum<T>* cosine, const Sum<T>* sine, T* y) {
  launch_elements(kRotary.of<T>(), r.texts * r.length * r.heads * (r.width - r.pairs), r, x, cosine, sine, y);
}

}  // namespace

TAPE_DEFINE_TABLES(RotaryKernels, rotary, .turn = turn<T>)
extern const RotaryKernels<BFloat16> rotary_bf16 = rotary_table<BFloat16>;

}  // namespace tape::kernels::cuda
