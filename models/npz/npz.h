#pragma once

#include <map>
#include <string>

#include "../../autograd/tensor.h"

// NumPy's archives of arrays, as written by numpy.savez and numpy.savez_compressed and read by numpy.load.
namespace tape {

/// Options of save_npz().
struct NpzOptions {
  bool compressed = false;  ///< deflate, as numpy.savez_compressed
};
/// Writes tensors by name as a .npz file, a zip archive with one .npy file per tensor. Equal tensors produce equal
/// files. Throws as save_npy() (autograd/io/npy.h), and Error (config) for a name that is not UTF-8 or an archive above
/// 4 GiB.
void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors, const NpzOptions& options = {});

/// Reads a .npz file, stored or deflated, of any size. Throws as load_npy(), with the entry's name, and Error (format)
/// for a broken archive (zip.h), an entry that is not a .npy file, or a wrong checksum.
std::map<std::string, Tensor> load_npz(const std::string& path);

}  // namespace tape
