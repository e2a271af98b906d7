#include "autograd/kernels/whole_numbers.h"

#include "autograd/kernels/choice_loop.h"
#include "autograd/kernels/compare_loop.h"

namespace tape::kernels {
namespace {

using namespace TAPE_LEVEL;

/// Signed overflow wraps: the sum is made of unsigned numbers.
template <class F>
int64_t wrapped(int64_t x, int64_t y, const F& f) {
  return static_cast<int64_t>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

PairLoop<int64_t, int64_t> binary_loop(Binary op) {
  constexpr auto loop_of = [](auto f) { return pair_loop_of<int64_t, int64_t>(f); };
  switch (op) {
    case Binary::add:
      return loop_of([](int64_t x, int64_t y) { return wrapped(x, y, [](uint64_t u, uint64_t v) { return u + v; }); });
    case Binary::sub:
      return loop_of([](int64_t x, int64_t y) { return wrapped(x, y, [](uint64_t u, uint64_t v) { return u - v; }); });
    case Binary::mul:
      return loop_of([](int64_t x, int64_t y) { return wrapped(x, y, [](uint64_t u, uint64_t v) { return u * v; }); });
    case Binary::div:  // INT64_MIN / -1 does not fit: it wraps as well
      return loop_of([](int64_t x, int64_t y) {
        return y == -1 ? wrapped(0, x, [](uint64_t u, uint64_t v) { return u - v; }) : x / y;
      });
    case Binary::maximum:
      return loop_of([](int64_t x, int64_t y) { return x > y ? x : y; });
    case Binary::minimum:
      return loop_of([](int64_t x, int64_t y) { return x < y ? x : y; });
    case Binary::pow:
      break;
  }
  return nullptr;  // refused by the caller
}
}  // namespace

void binary_i64(Binary op, const Broadcast& plan, const int64_t* a, const int64_t* b, int64_t* out) {
  if (const auto loop = binary_loop(op)) for_pairs(plan, a, b, out, loop);
}

void compare_i64(Compare op, const Broadcast& plan, const int64_t* a, const int64_t* b, bool* out) {
  for_pairs(plan, a, b, out, compare_loop<int64_t>(op));
}

void where_bytes(const Broadcast& plan, int64_t element_size, const bool* c, const void* a, const void* b, void* out) {
  const auto run = [&](auto element) {
    using E = decltype(element);
    where_loop(plan, c, static_cast<const E*>(a), static_cast<const E*>(b), static_cast<E*>(out));
  };
  if (element_size == 1) run(uint8_t{});
  if (element_size == 4) run(uint32_t{});
  if (element_size == 8) run(uint64_t{});
}

}  // namespace tape::kernels
