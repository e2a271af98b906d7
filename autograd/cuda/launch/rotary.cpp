#include "autograd/kernels/attention/rotary.h"

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kRotary = TAPE_FLOAT_KERNELS(rotary);

template <class T>
void turn(const RotaryShape& r, const T* x, const T* cosine, const T* sine, T* y) {
  launch_elements(kRotary.of<T>(), r.texts * r.length * r.heads * (r.width - r.pairs), r, x, cosine, sine, y);
}

}  // namespace

TAPE_DEFINE_TABLES(RotaryKernels, rotary, .turn = turn<T>)

}  // namespace tape::kernels::cuda
