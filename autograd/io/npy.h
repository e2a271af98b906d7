#pragma once

#include <string>

#include "../tensor.h"

// NumPy's array files, as written by numpy.save and read by numpy.load. Archives of them (.npz) are in
// models/npz/npz.h.
namespace tape {

/// Writes a tensor of any dtype as a .npy file (format 1.0, C order, little-endian) to a temporary file that is flushed
/// and renamed. bf16, which NumPy lacks, is written as `<V2`, like bfloat16 of the package ml_dtypes; read it with
/// numpy.load(file).view(ml_dtypes.bfloat16). Throws Error (config) for an undefined tensor, Error (io) if writing
/// fails.
void save_npy(const std::string& path, const Tensor& tensor);

/// Reads a .npy file. f2, f4, f8, i4, i8, u1 and b1 become f16, f32, f64, i32, i64, u8 and bool; V2 becomes bf16.
/// Integers of other widths become the narrowest dtype that holds them all: i1, i2 and u2 become i32, u4 and u8 become
/// i64 (Error (format) for a u8 value out of range). Fortran order and big-endian values are rearranged. The whole
/// header is checked against the size of the file before the tensor is allocated. Throws Error (format) with the file
/// and the problem, Error (dtype) for other types, including arrays of Python objects, which are pickles and are never
/// read, Error (io) if the file cannot be read.
Tensor load_npy(const std::string& path);

}  // namespace tape
