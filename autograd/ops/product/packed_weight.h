#pragma once

#include "../../kernels/product/int8_rows.h"
#include "../../tensor.h"

namespace tape {

namespace kernels {
struct Gemm;
}

/// Whether linear() keeps a copy of a weight packed in the order its kernels read, made at the first product of seven
/// rows or more (fewer where bf16 is multiplied), and linear_max() an int8 copy; false frees the copies. For weights
/// that stay the same over many products: Module::prepare_for_inference() enables it, Module::train() disables it. The
/// copies take as much memory as the weight, half of it in bf16, a quarter in int8; tied weights share them.
///
/// A weight that was modified is packed again. Writes through tensors and views are detected by the next product.
/// Writes through a raw pointer taken earlier are detected within 256 products, each of which compares 1/256 of the
/// weight; a write to all of it by the next one.
void keep_packed(const Tensor& weight, bool keep);
/// Whether keep_packed() is on for a weight.
bool is_kept_packed(const Tensor& weight);

/// Makes a product read the packed copy of its weight, if there is one and it pays. Keep the returned memory alive
/// during the product; null: the product reads the weight itself.
Ref<Storage> read_packed(const Tensor& weight, kernels::Gemm& product);

/// Int8 copy of a weight's rows, valid as long as `held`, which is null if there is none.
struct Int8Weight {
  kernels::Int8Rows rows;  ///< the quantized rows, in the memory of `held`
  Ref<Storage> held;       ///< owns that memory
};
/// Rounding pays off after about twenty reads; short generations do without.
inline constexpr int64_t kReadsBeforeInt8 = 16;
/// Returns the int8 copy of a weight kept packed. It takes a quarter of the weight's memory, is made at the seventeenth
/// call, and made again after the weight was modified.
Int8Weight read_int8(const Tensor& weight);

}  // namespace tape
