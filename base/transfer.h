#pragma once

#include <cstdint>
#include <string_view>

// read() and write() may transfer fewer bytes than requested; these do not. They retry interrupted calls and leave
// errors in errno.
namespace tape {

/// Writes all bytes at the descriptor's current position. Returns false on an error.
bool write_all(int descriptor, std::string_view bytes);
/// Reads at a position. Returns the number of bytes read, fewer than requested at end of file, or -1 on an error.
int64_t read_all(int descriptor, int64_t position, void* to, int64_t bytes);

}  // namespace tape
