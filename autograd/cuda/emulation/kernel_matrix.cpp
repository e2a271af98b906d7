#include "autograd/cuda/emulation/kernel_matrix.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "autograd/cuda/emulation/block.h"
#include "autograd/cuda/emulation/report.h"
#include "autograd/cuda/emulation/shadow.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr unsigned kAllLanes = ~0U;

/// What a lane gives to a product.
struct Operands {
  uint32_t a[4], b[2];
};
struct OperandsF64 {
  double a, b;
};

/// Waits for all lanes of the warp and returns what a lane gave.
template <class T>
class Gathered {
 public:
  Gathered(const T& given, void* caller) {
    static_assert(sizeof(T) <= sizeof(GatheredValue));
    Thread& thread = block_runner().current();
    thread.given = &given;
    thread.bytes = sizeof(T);
    block_runner().wait_for_warp(Waiting::matrix, kAllLanes, caller);
    values_ = block_runner().gathered();
  }
  T of_lane(unsigned lane) const {
    T value;
    std::memcpy(&value, values_[lane].bytes, sizeof(T));
    return value;
  }

 private:
  const GatheredValue* values_;
};

unsigned this_lane() { return static_cast<unsigned>(block_runner().current_index()) % kWarp; }

float bf16_at(uint32_t pair, unsigned index) {
  return std::bit_cast<float>(index % 2 ? pair & 0xFFFF0000U : pair << 16);
}
float tf32_value(uint32_t bits) { return std::bit_cast<float>(bits & ~0x1FFFU); }

float a_bf16(const Gathered<Operands>& all, unsigned row, unsigned k) {
  return bf16_at(all.of_lane(row % 8 * 4 + k % 8 / 2).a[(row >= 8) + 2 * (k >= 8)], k);
}
float b_bf16(const Gathered<Operands>& all, unsigned k, unsigned col) {
  return bf16_at(all.of_lane(col * 4 + k % 8 / 2).b[k >= 8], k);
}
float a_tf32(const Gathered<Operands>& all, unsigned row, unsigned k) {
  return tf32_value(all.of_lane(row % 8 * 4 + k % 4).a[(row >= 8) + 2 * (k >= 4)]);
}
float b_tf32(const Gathered<Operands>& all, unsigned k, unsigned col) {
  return tf32_value(all.of_lane(col * 4 + k % 4).b[k >= 4]);
}

/// Adds the products of a lane's four elements of C.
template <auto a_at, auto b_at>
void multiply(float* c, const uint32_t* a, const uint32_t* b, unsigned inner, void* caller) {
  const Operands mine{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const Gathered<Operands> all(mine, caller);
  const unsigned lane = this_lane();
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + 8 * (i / 2), col = 2 * (lane % 4) + i % 2;
    for (unsigned k = 0; k < inner; ++k) c[i] += a_at(all, row, k) * b_at(all, k, col);
  }
}

}  // namespace

void multiply_bf16(float* c, const uint32_t* a, const uint32_t* b) {
  multiply<a_bf16, b_bf16>(c, a, b, 16, __builtin_return_address(0));
}

void multiply_tf32(float* c, const uint32_t* a, const uint32_t* b) {
  multiply<a_tf32, b_tf32>(c, a, b, 8, __builtin_return_address(0));
}

void multiply_f64(double* c, double a, double b) {
  const OperandsF64 mine{a, b};
  const Gathered<OperandsF64> all(mine, __builtin_return_address(0));
  const unsigned lane = this_lane();
  for (unsigned i = 0; i < 2; ++i)
    for (unsigned k = 0; k < 4; ++k)
      c[i] += all.of_lane(lane / 4 * 4 + k).a * all.of_lane((2 * (lane % 4) + i) * 4 + k).b;
}

void load_matrices(uint32_t* matrices, const void* row, bool transposed) {
  void* const caller = __builtin_return_address(0);
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) {
    report(FaultKind::misaligned, block_runner().current_index(), caller,
           [row] { return fmt::format("{} is not a multiple of 16, the alignment of a row", row); });
    block_runner().abandon();
  }
  const Gathered<const void*> rows(row, caller);
  const unsigned group = this_lane() / 4, pair = 2 * (this_lane() % 4);
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    uint16_t values[2];
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned r = transposed ? pair + i : group, col = transposed ? group : pair + i;
      const auto* const from = static_cast<const uint16_t*>(rows.of_lane(8 * matrix + r)) + col;
      shadow().access(const_cast<uint16_t*>(from), sizeof *from, Access::read, caller);
      values[i] = *from;
    }
    matrices[matrix] = values[0] | static_cast<uint32_t>(values[1]) << 16;
  }
}

}  // namespace tape::cuda_device::emulation
