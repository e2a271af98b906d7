#include "autograd/kernels/runtime/common/memory.h"

#include <algorithm>
#include <new>

#include "base/sanitizer.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

TEST(ScratchMemory, IsAlignedAndReused) {
  void* first = acquire_scratch(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
  std::memset(first, 1, 1000);
  release_scratch(first);
  void* again = acquire_scratch(900);
  if (!kAddressSanitizer) {
    EXPECT_EQ(again, first);
  }
  void* other = acquire_scratch(900);
  EXPECT_NE(other, again);
  release_scratch(other);
  release_scratch(again);
}

TEST(ScratchMemory, SupportsMoreBlocksThanItCaches) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < 40; ++i) {
    blocks.push_back(acquire_scratch(i * 100));
    std::memset(blocks.back(), static_cast<int>(i), i * 100);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {  // no block overlaps another
    const unsigned char* bytes = static_cast<const unsigned char*>(blocks[i]);
    EXPECT_TRUE(std::all_of(bytes, bytes + i * 100, [i](unsigned char byte) { return byte == i; })) << i;
  }
  for (void* block : blocks) release_scratch(block);
  void* large = acquire_scratch(size_t{20} << 20);  // larger than what a thread caches
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 64, 0U);
  release_scratch(large);
}

TEST(ScratchMemory, ThrowsIfThereIsNone) { EXPECT_THROW(acquire_scratch(~size_t{0} - 8), std::bad_alloc); }

}  // namespace
}  // namespace tape::kernels::testing
