#include "autograd/kernels/elementwise/common/integer_ops.h"

#include "tests/cuda/kernels/beside_cpu.h"
#include "tests/cuda/kernels/plans.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

using Integers = std::vector<int64_t>;

class CudaIntegers : public KernelTest<int64_t> {
 protected:
  struct Operand {
    Operand(const Integers& values) : host(values), device(values) {}
    Integers host;
    DeviceArray<int64_t> device;
  };
  /// Small values, and every seventh one of the largest.
  static Integers values(int64_t count, uint32_t seed, int64_t low, int64_t high) {
    Integers numbers = random_integers(count, low, high, seed);
    constexpr int64_t kFar[] = {INT64_MAX, INT64_MIN, -1, 1, INT64_MAX / 3};
    for (size_t i = 6; i < numbers.size(); i += 7) numbers[i] = kFar[(i / 7 * seed) % 5];
    return numbers;
  }
};

TEST_F(CudaIntegers, BinaryOperationsAndComparisons) {
  for (const Broadcast& plan : broadcasts()) {
    Operand a(values(elements(plan, 0), 1, -9, 9)), b(values(elements(plan, 1), 2, 1, 7));
    for (int op = 0; op < static_cast<int>(Binary::atan2); ++op) {
      SCOPED_TRACE("operation " + std::to_string(op) + ", " + std::to_string(outputs(plan)) + " elements, rank " +
                   std::to_string(plan.rank));
      const auto binary = static_cast<Binary>(op);
      expect_same_results(
          device, Integers(static_cast<size_t>(outputs(plan))),
          [&](int64_t* out) { integer_ops().binary(binary, plan, a.host.data(), b.host.data(), out); },
          [&](int64_t* out) { cuda::integer_ops.binary(binary, plan, a.device.constant(), b.device.constant(), out); });
    }
    for (int op = 0; op <= static_cast<int>(Compare::ge); ++op) {
      const auto compare = static_cast<Compare>(op);
      expect_same_results(
          device, std::vector<uint8_t>(static_cast<size_t>(outputs(plan))),
          [&](uint8_t* out) { integer_ops().compare(compare, plan, a.host.data(), b.host.data(), flags(out)); },
          [&](uint8_t* out) {
            cuda::integer_ops.compare(compare, plan, a.device.constant(), b.device.constant(), flags(out));
          });
    }
  }
}

TEST_F(CudaIntegers, NegativePowers) {
  const Broadcast plan = {.rank = 2, .sizes = {5, 7}, .strides = {{1, 0}, {0, 1}}};
  Operand bases({-2, -1, 0, 1, 2}), powers({-3, -2, -1, 0, 1, 2, 65});
  expect_same_results(
      device, Integers(35),
      [&](int64_t* out) { integer_ops().binary(Binary::pow, plan, bases.host.data(), powers.host.data(), out); },
      [&](int64_t* out) {
        cuda::integer_ops.binary(Binary::pow, plan, bases.device.constant(), powers.device.constant(), out);
      });
}

template <class E>
void expect_selection(TestDevice& device, const Broadcast& plan) {
  const auto elements_of = [&](int operand, int64_t low, int64_t high) {
    std::vector<E> values;
    for (const int64_t value : random_integers(elements(plan, operand), low, high, static_cast<uint32_t>(operand + 3)))
      values.push_back(static_cast<E>(value));
    return values;
  };
  const std::vector<E> a = elements_of(0, 0, 100), b = elements_of(1, 100, 200);
  std::vector<uint8_t> c;
  for (const E value : elements_of(2, 0, 2)) c.push_back(static_cast<uint8_t>(value));
  const DeviceArray<E> device_a(a), device_b(b);
  const DeviceArray<uint8_t> device_c(c);
  expect_same_results(
      device, std::vector<E>(static_cast<size_t>(outputs(plan))),
      [&](E* out) { integer_ops().where(plan, sizeof(E), flags(c.data()), a.data(), b.data(), out); },
      [&](E* out) {
        cuda::integer_ops.where(plan, sizeof(E), flags(device_c.get()), device_a.get(), device_b.get(), out);
      });
}

TEST_F(CudaIntegers, SelectionOfEverySize) {
  for (const Broadcast& plan : broadcasts()) {
    SCOPED_TRACE(std::to_string(outputs(plan)) + " elements, rank " + std::to_string(plan.rank));
    expect_selection<uint8_t>(device, plan);
    expect_selection<uint16_t>(device, plan);
    expect_selection<uint32_t>(device, plan);
    expect_selection<uint64_t>(device, plan);
  }
}

TEST_F(CudaIntegers, ReducesAsTheCpu) {
  for (const AxisShape& s : {AxisShape{1, 1, 1}, {1, 1000, 1}, {31, 33, 1}, {3, 7, 33}, {0, 3, 2}, {5, 1, 31}}) {
    SCOPED_TRACE(text(s));
    const auto results = static_cast<size_t>(s.outer * s.inner);
    Operand x(values(s.outer * s.size * s.inner, 3, -4, 5));
    // The values, then the indices.
    for (const bool largest : {false, true})
      expect_same_results(
          device, Integers(2 * results),
          [&](int64_t* y) { integer_ops().best(s.outer, s.size, s.inner, largest, x.host.data(), y, y + results); },
          [&](int64_t* y) {
            cuda::integer_ops.best(s.outer, s.size, s.inner, largest, x.device.constant(), y, y + results);
          });
    expect_same_results(
        device, Integers(results),
        [&](int64_t* y) { integer_ops().best(s.outer, s.size, s.inner, true, x.host.data(), y, nullptr); },
        [&](int64_t* y) { cuda::integer_ops.best(s.outer, s.size, s.inner, true, x.device.constant(), y, nullptr); });
    expect_same_results(
        device, Integers(results), [&](int64_t* y) { integer_ops().sum(s.outer, s.size, s.inner, x.host.data(), y); },
        [&](int64_t* y) { cuda::integer_ops.sum(s.outer, s.size, s.inner, x.device.constant(), y); });
    expect_same_results(
        device, Integers(results),
        [&](int64_t* y) { integer_ops().product(s.outer, s.size, s.inner, x.host.data(), y); },
        [&](int64_t* y) { cuda::integer_ops.product(s.outer, s.size, s.inner, x.device.constant(), y); });
  }
}

TEST_F(CudaIntegers, AnyAndEmptyReductions) {
  for (const int64_t size : {0, 1, 9, 100})
    for (const int64_t inner : {1, 33}) {
      std::vector<uint8_t> values;
      for (const int64_t value : random_integers(4 * size * inner, 0, 12)) values.push_back(value == 0);
      const DeviceArray<uint8_t> on_device(values);
      expect_same_results(
          device, std::vector<uint8_t>(static_cast<size_t>(4 * inner)),
          [&](uint8_t* y) { integer_ops().any(4, size, inner, flags(values.data()), flags(y)); },
          [&](uint8_t* y) { cuda::integer_ops.any(4, size, inner, flags(on_device.get()), flags(y)); });
    }
  const DeviceArray<int64_t> nothing(Integers(1));
  for (const bool product : {false, true})
    expect_same_results(
        device, Integers(33),
        [&](int64_t* y) { (product ? integer_ops().product : integer_ops().sum)(33, 0, 1, y, y); },
        [&](int64_t* y) {
          (product ? cuda::integer_ops.product : cuda::integer_ops.sum)(33, 0, 1, nothing.constant(), y);
        });
}

}  // namespace
}  // namespace tape::kernels
