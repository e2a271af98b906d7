#include "autograd/kernels/elementwise/common/cast.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

constexpr Element kElements[] = {Element::boolean, Element::u8,   Element::i32, Element::i64,
                                 Element::f16,     Element::bf16, Element::f32, Element::f64};

/// Bytes of values of an element, converted from f64.
std::vector<uint8_t> bytes_of(Element element, const std::vector<double>& values) {
  std::vector<uint8_t> bytes;
  with_element(element, [&]<class T>(T) {
    for (const double value : values) {
      const T converted_value = converted<T>(value);
      const auto* from = reinterpret_cast<const uint8_t*>(&converted_value);
      bytes.insert(bytes.end(), from, from + sizeof(T));
    }
  });
  return bytes;
}

TEST(CudaCast, ConvertsBetweenAllElementsAsTheCpu) {
  TestDevice device;
  std::vector<double> values = {0,    -0.0,  1,    -1,   0.5,    -2.5,   255, 256,      65504,     65520,
                                1e-7, 3e-42, 1e30, 1e39, 0x1p31, 0x1p63, NAN, INFINITY, -INFINITY, 1.00390625};
  for (int i = 0; i < 400; ++i) values.push_back(std::ldexp(i * 0.37 - 70, i % 40 - 20));
  const auto n = static_cast<int64_t>(values.size());
  for (const Element from : kElements)
    for (const Element to : kElements) {
      SCOPED_TRACE(fmt::format("{} to {}", static_cast<int>(from), static_cast<int>(to)));
      const std::vector<uint8_t> x = bytes_of(from, values);
      const DeviceArray<uint8_t> on_device(x);
      expect_same_results(
          device, bytes_of(to, std::vector<double>(values.size())),
          [&](uint8_t* y) { casts().cast(from, to, n, x.data(), y); },
          [&](uint8_t* y) { cuda::casts.cast(from, to, n, on_device.get(), y); });
      expect_same_results(
          device, std::vector<int64_t>{7}, [&](int64_t* first) { casts().first_unfit(from, to, n, x.data(), first); },
          [&](int64_t* first) { cuda::casts.first_unfit(from, to, n, on_device.get(), first); });
    }
}

}  // namespace
}  // namespace tape::kernels
