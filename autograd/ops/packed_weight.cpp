#include "autograd/ops/packed_weight.h"

#include <memory>
#include <mutex>

#include "autograd/dtype.h"
#include "autograd/kernels/gemm.h"

namespace tape {
namespace {

using kernels::Gemm, kernels::RightPacking;

/// Fewer rows than this are multiplied faster by the weight as it lies (benchmarks/intel_avx512.md and intel_amx.md,
/// "Decoding"). Packed bf16 is half or a quarter of what is to be read.
int64_t least_rows(const RightPacking& way) {
  if (way.kernels == RightPacking::Kernels::blocked) return 7;
  return way.parts == 1 ? 1 : 8;
}

/// A weight's copy, and what it is a copy of.
struct PackedWeight : Companion {
  std::mutex mutex;  // several threads may use one model
  RightPacking way;
  uint64_t version = 0;
  int64_t offset = 0, n = 0, k = 0;
  Ref<Storage> packed;

  bool fits(const Tensor& weight, const Gemm& shape, const RightPacking& wanted) const {
    return packed && way == wanted && version == weight.version() && offset == weight.ref()->offset && n == shape.n &&
           k == shape.k;
  }
};
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
  auto* const kept = dynamic_cast<PackedWeight*>(weight.ref()->storage->companion());
  if (!kept) return nullptr;
  const RightPacking way = right_packing(product, size_of(weight.dtype()));
  if (way.kernels == RightPacking::Kernels::none || product.m < least_rows(way)) return nullptr;
  const std::lock_guard lock(kept->mutex);
  if (!kept->fits(weight, product, way)) {
    kept->packed = nullptr;
    const Ref<Storage> packed = Storage::allocate(way.bytes);
    dispatch_floating("linear", weight.dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernels::pack_right(product, weight.data<T>(), packed->data());
    });
    kept->way = way;
    kept->version = weight.version();
    kept->offset = weight.ref()->offset;
    kept->n = product.n;
    kept->k = product.k;
    kept->packed = packed;
  }
  product.packed = {.values = kept->packed->data(), .kernels = way.kernels, .columns = product.n};
  return kept->packed;
}

}  // namespace tape
