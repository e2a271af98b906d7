#include "autograd/kernels/attention/rotary.h"

#include "tests/cuda/kernels/compare.h"

namespace tape::kernels {
namespace {

template <class T>
class CudaRotary : public testing::Test {
 protected:
  cuda_device::emulation::EmulatedDevice device;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaRotary, Types);

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
          const std::vector<T> x = random_values<T>(2 * 5 * 3 * width), c = random_values<T>(2 * 5 * pairs, -1, 1, 2),
                               s = random_values<T>(2 * 5 * pairs, -1, 1, 3);
          HostArray<T> host_x(x), host_c(c), host_s(s);
          const DeviceArray<T> device_x(x), device_c(c), device_s(s);
          expect_same_results(
              this->device, std::vector<T>(x.size()),
              [&](T* y) { rotary<T>().turn(shape, host_x.get(), host_c.get(), host_s.get(), y); },
              [&](T* y) {
                rotary<T>(Target{tape::cuda}).turn(shape, device_x.get(), device_c.get(), device_s.get(), y);
              });
          expect_same_results(
              this->device, x, [&](T* y) { rotary<T>().turn(shape, y, host_c.get(), host_s.get(), y); },
              [&](T* y) { rotary<T>(Target{tape::cuda}).turn(shape, y, device_c.get(), device_s.get(), y); });
        }
}

}  // namespace
}  // namespace tape::kernels
