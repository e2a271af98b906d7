#include "autograd/cuda/launch/radix_sort.h"

#include <bit>

namespace tape::kernels::cuda {
namespace {

constexpr int64_t kRadixDigits = 256, kRadixTile = 8 * kThreads;

constinit const Kernel kRadixStart("radix_start"), kRadixCount("radix_count"), kRadixPlace("radix_place");
constinit const Kernel kDigitSums("exclusive_sums");

}  // namespace

RadixSort::RadixSort(int64_t n)
    : n_(n),
      tiles_((n + kRadixTile - 1) / kRadixTile),
      keys_(n),
      other_keys_(n),
      order_(n),
      other_order_(n),
      counts_(kRadixDigits * tiles_) {
  launch_elements(kRadixStart, n, n, order_.get());
}

void RadixSort::sort(uint64_t bound) {
  const auto bits = static_cast<int>(std::bit_width(bound - 1));
  const cuda_device::Grid tiles{static_cast<uint32_t>(tiles_)}, threads{static_cast<uint32_t>(kThreads)};
  for (int shift = 0; shift < bits; shift += 8) {
    const uint64_t* const keys = this->keys();
    const int64_t* const order = this->order();
    kRadixCount(tiles, threads, n_, shift, keys, counts_.get());
    kDigitSums({1}, threads, kRadixDigits * tiles_, counts_.constant(), counts_.get());
    swapped_ = !swapped_;
    kRadixPlace(tiles, threads, n_, shift, keys, order, counts_.constant(), this->keys(), order_now());
  }
}

}  // namespace tape::kernels::cuda
