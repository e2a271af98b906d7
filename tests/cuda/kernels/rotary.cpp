#include "autograd/kernels/attention/rotary.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaRotary : public KernelTest<T> {};
TYPED_TEST_SUITE(CudaRotary, BothTypes);

TYPED_TEST(CudaRotary, RotatesPairsOfBothKinds) {
  using T = TypeParam;
  for (const int64_t width : {2, 8, 66})
    for (const int64_t pairs : {int64_t{1}, width / 2})
      for (const int64_t next_text : {int64_t{0}, 5 * pairs})
        for (const bool interleaved : {false, true}) {
          SCOPED_TRACE(std::to_string(pairs) + " pairs of " + std::to_string(width));
          const RotaryShape shape = {.texts = 2,
                                     .length = 5,
                                     .heads = 3,
                                     .width = width,
                                     .pairs = pairs,
                                     .next_text = next_text,
                                     .interleaved = interleaved};
          const std::vector<T> x = random_values<T>(2 * 5 * 3 * width), c = random_values<T>(2 * 5 * pairs, 2),
                               s = random_values<T>(2 * 5 * pairs, 3);
          const DeviceArray<T> device_x(x), device_c(c), device_s(s);
          expect_same_results(
              this->device, std::vector<T>(x.size()),
              [&](T* y) { rotary<T>().turn(shape, x.data(), c.data(), s.data(), y); },
              [&](T* y) { rotary<T>(kOnDevice).turn(shape, device_x.get(), device_c.get(), device_s.get(), y); });
          expect_same_results(
              this->device, x, [&](T* y) { rotary<T>().turn(shape, y, c.data(), s.data(), y); },
              [&](T* y) { rotary<T>(kOnDevice).turn(shape, y, device_c.get(), device_s.get(), y); });
        }
}

}  // namespace
}  // namespace tape::kernels
