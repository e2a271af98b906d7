#pragma once

#include <map>
#include <string>

#include "../../autograd/tensor.h"

namespace tape::models {

/// A model's tensors as they lie in a folder.
struct Weights {
  std::map<std::string, Tensor> tensors;
  std::string where;  ///< the file to name in errors: model.safetensors or its index
};

/// Reads `model.safetensors`, or the shards that `model.safetensors.index.json` lists. Error (io) where neither is
/// there; Error (format) for an index that names a file outside the folder, a tensor that its shard does not hold, or
/// misses one that it does.
Weights read_weights(const std::string& folder);

/// Writes them as one file, or as shards of at most so many bytes (a larger tensor has a shard of its own), and removes
/// what an earlier save of the other kind left.
void write_weights(const std::string& folder, const std::map<std::string, Tensor>& tensors, int64_t max_shard_bytes);

/// Removes what either kind of save left.
void remove_weights(const std::string& folder);

}  // namespace tape::models
