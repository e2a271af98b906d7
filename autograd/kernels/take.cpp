#include "autograd/kernels/take.h"

#include <cstring>

#include "autograd/kernels/level.h"

namespace tape::kernels {
namespace {

using namespace TAPE_LEVEL;

/// Whole numbers stand for values of any type of their size.
template <class Visit>
void with_size(int64_t element_size, const Visit& visit) {
  if (element_size == 1) visit(uint8_t{});
  if (element_size == 4) visit(uint32_t{});
  if (element_size == 8) visit(uint64_t{});
}
}  // namespace

void take(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
          const int64_t* index, void* y) {
  with_size(element_size, [&](auto element) {
    using E = decltype(element);
    const E* from = static_cast<const E*>(x);
    E* to = static_cast<E*>(y);
    for_chunks(outer * count, inner, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t source = line / count * size + index[line % count];
        if (inner == 1)
          to[line] = from[source];
        else
          std::memcpy(to + line * inner, from + source * inner, static_cast<std::size_t>(inner) * sizeof(E));
      }
    });
  });
}

void gather(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
            const int64_t* index, void* y) {
  with_size(element_size, [&](auto element) {
    using E = decltype(element);
    const E* from = static_cast<const E*>(x);
    E* to = static_cast<E*>(y);
    for_chunks(outer * count, inner, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t o = line / count;
        for (int64_t i = 0; i < inner; ++i)
          to[line * inner + i] = from[(o * size + index[line * inner + i]) * inner + i];
      }
    });
  });
}

int64_t first_outside(int64_t n, const int64_t* index, int64_t size) {
  for (int64_t i = 0; i < n; ++i)
    if (index[i] < 0 || index[i] >= size) return i;
  return -1;
}

}  // namespace tape::kernels
