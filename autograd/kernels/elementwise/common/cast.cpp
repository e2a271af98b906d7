#include "autograd/kernels/elementwise/common/cast.h"

#include "autograd/kernels/runtime/level.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

void cast(Element from, Element to, int64_t n, const void* x, void* y) {
  with_element(from, [&]<class From>(From) {
    with_element(to, [&]<class To>(To) {
      const auto* values = static_cast<const From*>(x);
      auto* results = static_cast<To*>(y);
      for_chunks(n, 1, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) results[i] = converted<To>(values[i]);
      });
    });
  });
}

void first_unfit(Element from, Element to, int64_t n, const void* x, int64_t* first) {
  *first = -1;
  with_element(from, [&]<class From>(From) {
    with_element(to, [&]<class To>(To) {
      if constexpr (may_not_fit<From, To>) {
        const auto* values = static_cast<const From*>(x);
        for (int64_t i = 0; i < n && *first < 0; ++i)
          if (!fits<To>(values[i])) *first = i;
      }
    });
  });
}

}  // namespace

extern const CastKernels casts = {.cast = cast, .first_unfit = first_unfit};

}  // namespace tape::kernels::TAPE_LEVEL
