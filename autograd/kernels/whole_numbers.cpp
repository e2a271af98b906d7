#include "autograd/kernels/whole_numbers.h"

#include "autograd/kernels/compare_loop.h"

namespace tape::kernels {
namespace {

using namespace TAPE_LEVEL;

/// Signed overflow wraps: the sum is made of unsigned numbers.
template <class F>
int64_t wrapped(int64_t x, int64_t y, const F& f) {
  return static_cast<int64_t>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

template <class E>
void where_elements(const Broadcast& plan, const bool* c, const E* a, const E* b, E* out) {
  const int inner = plan.rank - 1;
  const int64_t step_a = inner < 0 ? 0 : plan.strides[0][inner], step_b = inner < 0 ? 0 : plan.strides[1][inner];
  const int64_t step_c = inner < 0 ? 0 : plan.strides[2][inner];
  for_rows(plan, [&](const Rows& o) {
    for (int64_t r = 0; r < o.rows; ++r) {
      const bool* condition = c + o.operand[2] + r * o.next[2];
      const E *from_a = a + o.operand[0] + r * o.next[0], *from_b = b + o.operand[1] + r * o.next[1];
      E* to = out + o.out + r * o.count;
      for (int64_t i = 0; i < o.count; ++i) to[i] = condition[i * step_c] ? from_a[i * step_a] : from_b[i * step_b];
    }
  });
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
    where_elements(plan, c, static_cast<const E*>(a), static_cast<const E*>(b), static_cast<E*>(out));
  };
  if (element_size == 1) run(uint8_t{});
  if (element_size == 4) run(uint32_t{});
  if (element_size == 8) run(uint64_t{});
}

}  // namespace tape::kernels
