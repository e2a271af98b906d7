#pragma once

#include "autograd/kernels/product/common/bf16_road.h"

namespace tape::kernels::testing {

/// AMX tiles in plain C++, slow, for any CPU. Products have the same bits as on real tiles, and so has attention except
/// for its exponentials.
const TileKernels& emulated_tiles();

/// While in scope, products in lower precision are on emulated tiles.
class EmulatedTiles {
 public:
  EmulatedTiles() {
    set_tile_kernels(&emulated_tiles());
    set_bf16_road(Bf16Road::tiles);
  }
  ~EmulatedTiles() {
    set_tile_kernels(nullptr);
    set_bf16_road(before_);
  }
  EmulatedTiles(const EmulatedTiles&) = delete;
  EmulatedTiles& operator=(const EmulatedTiles&) = delete;

 private:
  const Bf16Road before_ = bf16_road();
};

}  // namespace tape::kernels::testing
