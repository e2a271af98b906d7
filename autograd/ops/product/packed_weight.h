#pragma once

#include "../../kernels/product/int8_rows.h"
#include "../../tensor.h"

namespace tape {

namespace kernels {
struct Gemm;
}

/// Whether linear() keeps a weight as its kernels read it, packed at its first product of seven rows or more (where
/// bf16 is multiplied, of fewer), and linear_max() its rows in 8 bits, and again where the weight was written to since;
/// false lets go what was packed. For weights that stay as they are through many products: Module::eval() asks for it,
/// Module::train() ends it. What is packed takes as much memory again as the weight, half of it in bf16, a quarter in 8
/// bits. Of the tensor's whole storage: tied weights are kept once. A write through a pointer or a view that was taken
/// before the last product is not seen.
void keep_packed(const Tensor& weight, bool keep);

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
