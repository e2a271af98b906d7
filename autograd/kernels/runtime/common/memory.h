#pragma once

#include <cstddef>

namespace tape::kernels {

/// Uninitialized working memory on 64 bytes for one call of a kernel; each thread keeps a few blocks for its next call,
/// because fresh pages cost more than the work that small kernels do. Throws std::bad_alloc.
void* acquire_scratch(std::size_t bytes);
/// Must run on the thread that acquired the block.
void release_scratch(void* block) noexcept;

}  // namespace tape::kernels
