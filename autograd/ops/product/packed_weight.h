#pragma once

#include "../../kernels/product/int8_rows.h"
#include "../../tensor.h"

namespace tape {

namespace kernels {
struct Gemm;
}

/// Whether linear() keeps a copy of a weight in the order its kernels read, packed at the first product of seven rows
/// or more (fewer where bf16 is multiplied), and linear_max() its rows in 8 bits; false frees the copies. For weights
/// that stay the same through many products: Module::prepare_for_inference() calls it, Module::train() ends it. The
/// copies take as much memory as the weight, half of it in bf16, a quarter in 8 bits; tied weights share them.
///
/// A weight that was written to is packed again. Writes through tensors and views are noticed by the next product.
/// Writes through a pointer that was taken earlier are noticed within the next 256 products, each of which compares
/// 1/256 of the weight, so a write to all of it by the next one.
void keep_packed(const Tensor& weight, bool keep);
bool is_kept_packed(const Tensor& weight);

/// Lets a product read what is packed in place of its weight, where that is kept and pays. The memory returned is to be
/// held while it does; null: it reads the weight itself.
Ref<Storage> read_packed(const Tensor& weight, kernels::Gemm& product);

/// A weight's rows in 8 bits a value, to be read as long as `held` is: null where there are none.
struct Int8Weight {
  kernels::Int8Rows rows;
  Ref<Storage> held;
};
/// Rounding pays for itself within some twenty reads: who says a few words does without.
inline constexpr int64_t kReadsBeforeRounding = 16;
/// Made of a weight that is kept at its seventeenth call, and again where it was written to since: a quarter of its
/// memory.
Int8Weight read_int8(const Tensor& weight);

}  // namespace tape
