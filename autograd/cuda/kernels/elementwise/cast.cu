// Kernels of CastKernels (autograd/kernels/elementwise/common/cast.h).
#include "../packs.h"
#include "autograd/kernels/elementwise/common/element.h"

using tape::kernels::converted;
using tape::kernels::Element;
using tape::kernels::fits;
using tape::kernels::may_not_fit;
using tape::kernels::with_element;

namespace {

/// y[i] = x[i] in another type. All threads take the same branches on the types.
__device__ void cast(Element from, Element to, int64_t n, const void* x, void* y) {
  with_element(from, [&]<class From>(From) {
    with_element(to, [&]<class To>(To) {
      const auto* values = static_cast<const From*>(x);
      auto* results = static_cast<To*>(y);
      map_values(n, values, results, [](From value) { return converted<To>(value); });
    });
  });
}

/// *first = the position of the first value that does not fit; it starts as -1, the largest unsigned number.
__device__ void first_unfit(Element from, Element to, int64_t n, const void* x, int64_t* first) {
  with_element(from, [&]<class From>(From) {
    with_element(to, [&]<class To>(To) {
      if constexpr (may_not_fit<From, To>) {
        const auto* values = static_cast<const From*>(x);
        for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid())
          if (!fits<To>(values[i])) {
            atomicMin(reinterpret_cast<unsigned long long*>(first), static_cast<unsigned long long>(i));
            return;  // the thread's next positions are later ones
          }
      }
    });
  });
}

}  // namespace

TAPE_EXPORT_ONE(cast, (Element from, Element to, int64_t n, const void* x, void* y), (from, to, n, x, y))
TAPE_EXPORT_ONE(first_unfit, (Element from, Element to, int64_t n, const void* x, int64_t* first),
                (from, to, n, x, first))
