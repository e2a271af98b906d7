#include "autograd/kernels/shape/common/copy.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

struct Case {
  Strided places;
  int64_t first = 0;    // element of x at index 0, for negative strides
  int64_t storage = 0;  // elements of x
};

/// Layouts of n elements and more: contiguous, repeated, reversed, transposes of several kinds, and many axes.
const Case kCases[] = {
    {{.rank = 0}, 0, 1},
    {{.rank = 1, .sizes = {1000}, .strides = {1}}, 0, 1000},
    {{.rank = 1, .sizes = {1000}, .strides = {0}}, 0, 1},
    {{.rank = 1, .sizes = {33}, .strides = {-1}}, 32, 33},
    {{.rank = 2, .sizes = {31, 33}, .strides = {1, 31}}, 0, 1023},
    {{.rank = 2, .sizes = {70, 3}, .strides = {1, 70}}, 0, 210},
    {{.rank = 2, .sizes = {0, 33}, .strides = {33, 1}}, 0, 1},
    {{.rank = 3, .sizes = {3, 33, 40}, .strides = {1320, 1, 33}}, 0, 3960},
    {{.rank = 3, .sizes = {33, 3, 40}, .strides = {1, 1320, 33}}, 0, 3960},
    {{.rank = 3, .sizes = {5, 6, 7}, .strides = {7, 35, 1}}, 0, 210},
    {{.rank = 4, .sizes = {2, 1, 31, 3}, .strides = {0, 5, 2, 64}}, 0, 256},
    {{.rank = 6, .sizes = {2, 3, 2, 3, 2, 3}, .strides = {1, 2, 6, 12, 36, 72}}, 0, 216},
    {{.rank = 8, .sizes = {1, 2, 3, 1, 2, 2, 2, 2}, .strides = {9, 1, 2, 4, 48, 24, 12, 6}}, 0, 96},
};

int64_t count(const Strided& places) {
  int64_t n = 1;
  for (int d = 0; d < places.rank; ++d) n *= places.sizes[d];
  return n;
}

template <class E>
std::vector<E> numbers(int64_t count) {
  std::vector<E> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<E>(i * 2654435761U + i);
  return values;
}

template <class E>
void expect_copies() {
  TestDevice device;
  for (const Case& c : kCases) {
    SCOPED_TRACE("rank " + std::to_string(c.places.rank) + ", " + std::to_string(count(c.places)) + " elements");
    const std::vector<E> x = numbers<E>(c.storage);
    const DeviceArray<E> on_device(x);
    expect_same_results(
        device, std::vector<E>(static_cast<size_t>(count(c.places))),
        [&](E* y) { copy().from_strided(c.places, sizeof(E), x.data() + c.first, y); },
        [&](E* y) { cuda::copy.from_strided(c.places, sizeof(E), on_device.constant() + c.first, y); });
    const Strided& p = c.places;
    bool repeats = false;
    for (int d = 0; d < p.rank; ++d) repeats |= p.strides[d] == 0 && p.sizes[d] > 1;
    if (repeats) continue;
    const std::vector<E> y = numbers<E>(count(p));
    const DeviceArray<E> y_on_device(y);
    expect_same_results(
        device, std::vector<E>(static_cast<size_t>(c.storage)),
        [&](E* to) { copy().to_strided(p, sizeof(E), y.data(), to + c.first); },
        [&](E* to) { cuda::copy.to_strided(p, sizeof(E), y_on_device.constant(), to + c.first); });
  }
}

TEST(CudaCopy, StridedElementsOfEverySize) {
  expect_copies<uint8_t>();
  expect_copies<uint16_t>();
  expect_copies<uint32_t>();
  expect_copies<uint64_t>();
}

template <class E>
void expect_fills() {
  TestDevice device;
  const uint64_t element = element_of(static_cast<E>(0x123456789abcdef0));
  for (const int64_t n : kCounts)
    expect_same_results(
        device, std::vector<E>(static_cast<size_t>(n)), [&](E* y) { copy().fill(n, sizeof(E), element, y); },
        [&](E* y) { cuda::copy.fill(n, sizeof(E), element, y); });
}

TEST(CudaCopy, FillsWithElementsOfEverySize) {
  expect_fills<uint8_t>();
  expect_fills<uint16_t>();
  expect_fills<uint32_t>();
  expect_fills<uint64_t>();
}

TEST(CudaCopy, RotatesRowsByAnyNumberOfBytes) {
  TestDevice device;
  for (const int64_t size : {1, 3, 8, 40, 1000})
    for (const int64_t right : {int64_t{0}, size / 3, size / 2 / 8 * 8, size / 4 * 2, size}) {
      const std::vector<uint8_t> x = numbers<uint8_t>(5 * size);
      const DeviceArray<uint8_t> on_device(x);
      SCOPED_TRACE(std::to_string(size) + " bytes by " + std::to_string(right));
      expect_same_results(
          device, std::vector<uint8_t>(x.size()), [&](uint8_t* y) { copy().rotate_rows(5, size, right, x.data(), y); },
          [&](uint8_t* y) { cuda::copy.rotate_rows(5, size, right, on_device.constant(), y); });
    }
}

}  // namespace
}  // namespace tape::kernels
