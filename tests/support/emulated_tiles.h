#pragma once

#include "autograd/kernels/product/common/bf16_backend.h"

namespace tape::kernels::testing {

/// AMX tiles in plain C++: slow, for any CPU. Products are bitwise identical to real tiles, and so is attention except
/// for its exponentials.
const TileKernels& emulated_tiles();

/// Runs products in lower precision on emulated tiles while in scope.
class EmulatedTiles {
 public:
  EmulatedTiles() {
    set_tile_kernels(&emulated_tiles());
    set_bf16_backend(Bf16Backend::tiles);
  }
  ~EmulatedTiles() {
    set_tile_kernels(nullptr);
    set_bf16_backend(before_);
  }
  EmulatedTiles(const EmulatedTiles&) = delete;
  EmulatedTiles& operator=(const EmulatedTiles&) = delete;

 private:
  const Bf16Backend before_ = bf16_backend();
};

}  // namespace tape::kernels::testing
