#include "autograd/ops/product/packed_weight.h"

#include <memory>
#include <mutex>

#include "autograd/dtype.h"
#include "autograd/kernels/product/common/gemm.h"

namespace tape {
namespace {

using kernels::Gemm, kernels::RightPacking;

/// Fewer rows than this are multiplied faster by the weight as it lies (benchmarks/intel_avx512.md and intel_amx.md,
/// "Decoding"). Packed bf16 is half or a quarter of what is to be read.
int64_t least_rows(const RightPacking& way) {
  if (way.kernels == RightPacking::Kernels::blocked) return 7;
  return way.parts == 1 ? 1 : 8;
}

/// What a copy of a weight [n, k] is a copy of.
struct Copied {
  uint64_t version = 0;
  int64_t offset = 0, n = 0, k = 0;
  bool operator==(const Copied&) const = default;
};
Copied copied(const Tensor& weight, int64_t n, int64_t k) { return {weight.version(), weight.ref()->offset, n, k}; }

/// A weight's copies.
struct PackedWeight : Companion {
  std::mutex mutex;  // several threads may use one model
  RightPacking way;
  Copied packed_of, int8_of;
  Ref<Storage> packed;
  Int8Weight int8;
  int64_t asked_for_int8 = 0;
};

PackedWeight* kept_of(const Tensor& weight) { return dynamic_cast<PackedWeight*>(weight.ref()->storage->companion()); }

/// Memory for the rows of a weight [n, k] in 8 bits each.
Int8Weight room_for_rows(int64_t n, int64_t k) {
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
  if (!weight.defined() || weight.rank() != 2 || !is_f32_or_f64(weight.dtype())) return;
  Storage& storage = *weight.ref()->storage;
  if (!keep)
    storage.set_companion(nullptr);
  else if (!storage.companion())
    storage.set_companion(std::make_unique<PackedWeight>());
}

Ref<Storage> read_packed(const Tensor& weight, Gemm& product) {
  PackedWeight* const kept = kept_of(weight);
  if (!kept) return nullptr;
  const RightPacking way = right_packing(product, size_of(weight.dtype()));
  if (way.kernels == RightPacking::Kernels::none || product.m < least_rows(way)) return nullptr;
  const std::lock_guard lock(kept->mutex);
  const Copied now = copied(weight, product.n, product.k);
  if (!kept->packed || kept->way != way || kept->packed_of != now) {
    kept->packed = nullptr;
    const Ref<Storage> packed = Storage::allocate(way.bytes);
    dispatch_floating("linear", weight.dtype(),
                      [&]<class T>(T) { kernels::pack_right(product, weight.data<T>(), packed->data()); });
    kept->way = way;
    kept->packed_of = now;
    kept->packed = packed;
  }
  product.packed = {.values = kept->packed->data(), .kernels = way.kernels, .columns = product.n};
  return kept->packed;
}

Int8Weight read_int8(const Tensor& weight) {
  PackedWeight* const kept = kept_of(weight);
  if (!kept || weight.dtype() != f32) return {};
  const std::lock_guard lock(kept->mutex);
  if (++kept->asked_for_int8 <= kReadsBeforeRounding) return {};
  const Copied now = copied(weight, weight.size(0), weight.size(1));
  if (!kept->int8.held || kept->int8_of != now) {
    kept->int8 = {};
    Int8Weight made = room_for_rows(now.n, now.k);
    kernels::int8_rows().round(made.rows, weight.data<float>());
    kept->int8_of = now;
    kept->int8 = std::move(made);
  }
  return kept->int8;
}

}  // namespace tape
