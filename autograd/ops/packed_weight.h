#pragma once

#include "../tensor.h"

namespace tape {

namespace kernels {
struct Gemm;
}

/// Whether linear() keeps a weight as its kernels read it, packed at its first product of twelve rows or more (where
/// bf16 is multiplied, of fewer) and again where the weight was written to since; false lets go what was packed. For
/// weights that stay as they are through many products: Module::eval() asks for it, Module::train() ends it. What is
/// packed takes as much memory again as the weight, half of it in bf16. Of the tensor's whole storage: tied weights are
/// kept once. A write through a pointer or a view that was taken before the last product is not seen.
void keep_packed(const Tensor& weight, bool keep);

/// Lets a product read what is packed in place of its weight, where that is kept and pays. The memory returned is to be
/// held while it does; null: it reads the weight itself.
Ref<Storage> read_packed(const Tensor& weight, kernels::Gemm& product);

}  // namespace tape
