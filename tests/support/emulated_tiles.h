#pragma once

#include "autograd/kernels/product/common/bf16_backend.h"

namespace tape::kernels::testing {

/// AMX tiles in plain C++, slow, for any CPU. Products have the same bits as on real tiles, and so has attention except
/// for its exponentials.
const TileKernels& emulated_tiles();

/// While in scope, products in lower precision are on emulated tiles.
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
