#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "blas.h"

namespace tape::cuda_device {

/// Algorithms of products for one kind of GPU and one version of cuBLASLt, kept in the user's cache folder:
/// $XDG_CACHE_HOME (else ~/.cache)/tapeformer/cublaslt-GPU-VERSION.txt, one line per product.
///
/// Each decision is appended as one line by one write, so processes that decide at the same time lose nothing. Lines
/// that cannot be read are ignored, and so is a file or folder that cannot be read or written: decisions then hold for
/// the process. What find() returned or add() received does not change in the process.
class AlgorithmFile {
 public:
  AlgorithmFile(std::string_view gpu, int64_t version);

  /// The algorithm that this or another process has decided on, or nullopt. A product is a line without line breaks.
  std::optional<BlasAlgorithm> find(const std::string& product);
  /// Decides on an algorithm.
  void add(const std::string& product, const BlasAlgorithm& algorithm);
  /// Whether there is no space for more decisions, here or in the file.
  bool full() const { return bytes_ >= kMostBytes; }

  /// Path of the file, or "" without a cache folder.
  const std::string& path() const { return path_; }

 private:
  static constexpr int64_t kMostBytes = int64_t{4} << 20;  // some ten thousand products

  struct Decision {
    BlasAlgorithm algorithm = {};
    bool used = false;
  };

  void read_new_lines();
  void read_line(std::string_view line);

  std::string folder_, path_, title_;
  int64_t read_ = 0;       // bytes of the file's complete lines that were read
  bool ends_line_ = true;  // whether there is nothing after them
  int64_t bytes_ = 0;      // of the file, with what could not be added to it
  std::unordered_map<std::string, Decision> decisions_;
};

}  // namespace tape::cuda_device
