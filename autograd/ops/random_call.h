#pragma once

#include "../kernels/random/random.h"
#include "../random.h"
#include "kernel_call.h"

namespace tape {

/// Fills x with random values of a kernel, draw(table, n, seed, counter, values), and advances the generator. Error
/// (dtype) unless x is f32 or f64, without advancing it.
template <class Draw>
void fill_by_kernel(const char* operation, Tensor& x, Generator& stream, const Draw& draw) {
  dispatch_floating(operation, x.dtype(), [&]<class T>(T) {
    const int64_t n = x.numel();
    const uint64_t counter = stream.advance(n);
    run_kernels(operation, x.device(),
                [&](const KernelCall& at) { draw(kernels::random<T>(at), n, stream.seed(), counter, at.out<T>(x)); });
  });
}

}  // namespace tape
