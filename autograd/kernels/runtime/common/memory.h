#pragma once

#include <cstddef>

namespace tape::kernels {

/// Uninitialized working memory for one kernel call, aligned to 64 bytes. Each thread caches a few blocks, because
/// fresh pages cost more than the work of small kernels. Throws std::bad_alloc.
void* acquire_scratch(std::size_t bytes);
/// Must be called on the thread that acquired the block.
void release_scratch(void* block) noexcept;

}  // namespace tape::kernels
