#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "../tensor.h"

namespace tape::detail {

/// A .npy file, on its own or in an archive, that is read from the first byte to the last.
struct NpyReader {
  int64_t size;                              ///< in bytes
  std::function<void(void*, int64_t)> read;  ///< copies the next bytes to an address
};

/// Reads a whole .npy file. Errors begin with `where`.
Tensor read_npy(const std::string& where, const NpyReader& reader);

/// The values of a tensor on the CPU.
std::string_view bytes_of(const Tensor& tensor);

}  // namespace tape::detail
