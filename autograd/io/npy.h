#pragma once

#include <map>
#include <string>

#include "../tensor.h"

// Arrays of NumPy: numpy.save and numpy.load, numpy.savez and numpy.savez_compressed.
namespace tape {

/// Writes a tensor of any dtype as a .npy file (format 1.0, C order, little-endian): beside, flushed and renamed. bf16,
/// which NumPy has no type for, is written as `<V2`, as the package ml_dtypes writes its bfloat16:
/// numpy.load(file).view(ml_dtypes.bfloat16). Error (config) for an undefined tensor, (io) where the disk refuses.
void save_npy(const std::string& path, const Tensor& tensor);

/// Reads a .npy file. f2, f4, f8, i4, i8, u1 and b1 become f16, f32, f64, i32, i64, u8 and bool, V2 bf16. Whole numbers
/// of other widths become the narrowest that holds them all: i1, i2 and u2 i32, u4 and u8 i64 (Error (format) for a u8
/// above its range). Fortran order and big-endian values are rearranged. All of the header is checked against the size
/// of the file before the tensor is allocated: Error (format) names the file and what is wrong, Error (dtype) other
/// types, arrays of Python objects among them, which are pickles and are never read. Error (io) a file that cannot be
/// read.
Tensor load_npy(const std::string& path);

struct NpzOptions {
  bool compressed = false;  ///< deflated, as numpy.savez_compressed writes them
};
/// Writes tensors by name as a .npz file, a zip archive of one .npy file each. Equal tensors make equal files. Errors
/// as save_npy(), and Error (config) for a name that is not UTF-8 and for an archive above 4 GiB.
void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors, const NpzOptions& options = {});

/// Reads a .npz file, stored or deflated, also above 4 GiB. Errors as load_npy(), with the entry's name; Error (format)
/// for an archive that is broken (base/zip.h) or holds anything but .npy files, and for a wrong checksum.
std::map<std::string, Tensor> load_npz(const std::string& path);

}  // namespace tape
