#include "autograd/ops/product/packed_weight.h"

#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "autograd/dtype.h"
#include "autograd/kernels/product/common/gemm.h"

namespace tape {
namespace {

using kernels::Gemm, kernels::RightPacking;

/// For fewer rows, reading the unpacked weight is faster (benchmarks/intel_avx512.md and intel_amx.md, "Decoding").
/// Packed bf16 halves or quarters the memory traffic.
int64_t min_rows(const RightPacking& packing) {
  if (packing.kernels == RightPacking::Kernels::blocked) return 7;
  return packing.parts == 1 ? 1 : 8;
}

/// Differs if one word differs, since each step is a bijection of the sum and of the word. Eight sums hide the latency
/// of the multiplication, so that this is as fast as memory.
uint64_t sum_of(const char* bytes, size_t count) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
  constexpr size_t kSums = 8, kWord = sizeof(uint64_t);
  uint64_t sums[kSums] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto add = [](uint64_t& sum, uint64_t word) { sum = (std::rotl(sum, 29) ^ word) * kFactor; };
  size_t at = 0;
  for (; at + kSums * kWord <= count; at += kSums * kWord)
    for (size_t i = 0; i < kSums; ++i) {
      uint64_t word;
      std::memcpy(&word, bytes + at + i * kWord, kWord);
      add(sums[i], word);
    }
  for (; at < count; ++at) add(sums[0], static_cast<unsigned char>(bytes[at]));
  for (size_t i = 1; i < kSums; ++i) add(sums[0], sums[i]);
  return sums[0];
}

/// Identifies the values of a weight [n, k] from which a copy was made.
class WeightSnapshot {
 public:
  WeightSnapshot() = default;
  WeightSnapshot(const Tensor& weight, int64_t n, int64_t k)
      : version_(weight.version()), offset_(weight.ref()->offset), n_(n), k_(k) {
    for (size_t i = 0; i < kBlocks; ++i) sums_.push_back(sum_of_block(weight, i));
  }

  /// Whether the weight still has the copied values. The version detects writes through tensors. Writes through
  /// pointers do not change it, so each call also compares the sum of the next block.
  bool matches(const Tensor& weight, int64_t n, int64_t k) {
    if (sums_.empty() || weight.version() != version_ || weight.ref()->offset != offset_ || n != n_ || k != k_)
      return false;
    next_ = (next_ + 1) % kBlocks;
    return sums_[next_] == sum_of_block(weight, next_);
  }

 private:
  static constexpr size_t kBlocks = 256;

  uint64_t sum_of_block(const Tensor& weight, size_t block) const {
    const auto bytes = static_cast<size_t>(n_ * k_ * size_of(weight.dtype()));
    const size_t first = bytes * block / kBlocks, end = bytes * (block + 1) / kBlocks;
    return sum_of(static_cast<const char*>(weight.raw()) + first, end - first);
  }

  uint64_t version_ = 0;
  int64_t offset_ = 0, n_ = 0, k_ = 0;
  std::vector<uint64_t> sums_;
  size_t next_ = 0;
};

/// Copies of a weight.
struct PackedWeight : StorageAttachment {
  std::mutex mutex;  // several threads may use one model
  RightPacking packing;
  WeightSnapshot packed_of, int8_of;
  Ref<Storage> packed;
  Int8Weight int8;
  int64_t int8_requests = 0;
};

PackedWeight* packed_weight_of(const Tensor& weight) {
  return dynamic_cast<PackedWeight*>(weight.ref()->storage->attachment());
}

/// Allocates the int8 rows of a weight [n, k].
Int8Weight allocate_int8_rows(int64_t n, int64_t k) {
  constexpr int64_t kAligned = 64;
  Int8Weight made{{.n = n, .k = k}, nullptr};
  const int64_t values = (n * made.rows.stride() + kAligned - 1) / kAligned * kAligned;
  made.held = Storage::allocate(values + 3 * n * size_of(f32));
  made.rows.values = static_cast<int8_t*>(made.held->data());
  made.rows.scale = reinterpret_cast<float*>(made.rows.values + values);
  made.rows.norms = made.rows.scale + n;
  made.rows.rests = made.rows.norms + n;
  return made;
}
}  // namespace

void keep_packed(const Tensor& weight, bool keep) {
  if (!weight.defined() || weight.rank() != 2 || !is_f32_or_f64(weight.dtype()) || !weight.device().is_cpu()) return;
  Storage& storage = *weight.ref()->storage;
  if (!keep)
    storage.set_attachment(nullptr);
  else if (!storage.attachment())
    storage.set_attachment(std::make_unique<PackedWeight>());
}

bool is_kept_packed(const Tensor& weight) { return weight.defined() && packed_weight_of(weight); }

Ref<Storage> read_packed(const Tensor& weight, Gemm& product) {
  PackedWeight* const kept = packed_weight_of(weight);
  if (!kept) return nullptr;
  const RightPacking packing = right_packing(product, size_of(weight.dtype()));
  if (packing.kernels == RightPacking::Kernels::none || product.m < min_rows(packing)) return nullptr;
  const std::lock_guard lock(kept->mutex);
  if (!kept->packed || kept->packing != packing || !kept->packed_of.matches(weight, product.n, product.k)) {
    kept->packed = nullptr;
    const Ref<Storage> packed = Storage::allocate(packing.bytes);
    dispatch_floating("linear", weight.dtype(),
                      [&]<class T>(T) { kernels::pack_right(product, weight.data<T>(), packed->data()); });
    kept->packing = packing;
    kept->packed_of = WeightSnapshot(weight, product.n, product.k);
    kept->packed = packed;
  }
  product.packed = {.values = kept->packed->data(), .kernels = packing.kernels, .columns = product.n};
  return kept->packed;
}

Int8Weight read_int8(const Tensor& weight) {
  PackedWeight* const kept = packed_weight_of(weight);
  if (!kept || weight.dtype() != f32) return {};
  const std::lock_guard lock(kept->mutex);
  if (++kept->int8_requests <= kReadsBeforeInt8) return {};
  const int64_t n = weight.size(0), k = weight.size(1);
  if (!kept->int8.held || !kept->int8_of.matches(weight, n, k)) {
    kept->int8 = {};
    Int8Weight made = allocate_int8_rows(n, k);
    kernels::int8_rows().round(made.rows, weight.data<float>());
    kept->int8_of = WeightSnapshot(weight, n, k);
    kept->int8 = std::move(made);
  }
  return kept->int8;
}

}  // namespace tape
