#include "autograd/kernels/training/exchange.h"

#include "autograd/kernels/runtime/level.h"
#include "base/bfloat16.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Number of values that stay in the L1 cache while each block is added.
constexpr int64_t kStretch = 1024;

template <class T>
void sum(int64_t n, int64_t blocks, int64_t stride, const T* x, T* y) {
  for_chunks(n, blocks, [&](int64_t begin, int64_t end) {
    T part[kStretch];
    for (int64_t at = begin; at < end; at += kStretch) {
      const int64_t size = smaller(kStretch, end - at);
      for (int64_t i = 0; i < size; ++i) part[i] = x[at + i];
      for (int64_t b = 1; b < blocks; ++b)
        for (int64_t i = 0; i < size; ++i) part[i] += x[b * stride + at + i];
      for (int64_t i = 0; i < size; ++i) y[at + i] = part[i];
    }
  });
}

void sum_bf16(int64_t n, int64_t blocks, int64_t stride, const uint16_t* x, uint16_t* y) {
  for_chunks(n, blocks, [&](int64_t begin, int64_t end) {
    float part[kStretch];
    for (int64_t at = begin; at < end; at += kStretch) {
      const int64_t size = smaller(kStretch, end - at);
      for (int64_t i = 0; i < size; ++i) part[i] = bfloat16_value(x[at + i]);
      for (int64_t b = 1; b < blocks; ++b)
        for (int64_t i = 0; i < size; ++i) part[i] += bfloat16_value(x[b * stride + at + i]);
      for (int64_t i = 0; i < size; ++i) y[at + i] = bfloat16_bits(part[i]);
    }
  });
}

void to_bf16(int64_t n, const float* x, uint16_t* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = bfloat16_bits(x[i]);
  });
}

void from_bf16(int64_t n, const uint16_t* x, float* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = bfloat16_value(x[i]);
  });
}

}  // namespace

extern const CollectiveKernels exchange = {sum<float>, sum<double>, sum_bf16, to_bf16, from_bf16};

}  // namespace tape::kernels::TAPE_LEVEL
