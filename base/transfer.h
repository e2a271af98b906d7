#pragma once

#include <cstdint>
#include <string_view>

// What read() and write() do not promise: all of it. Interrupted calls are tried again; errors are left in errno.
namespace tape {

/// Writes where the descriptor stands. False on an error.
bool write_all(int descriptor, std::string_view bytes);
/// Reads from a position: how many bytes there were, fewer at the end of the file; -1 on an error.
int64_t read_all(int descriptor, int64_t position, void* to, int64_t bytes);

}  // namespace tape
