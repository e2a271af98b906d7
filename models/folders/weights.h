#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../autograd/tensor.h"

namespace tape::models {

/// A model's tensors as stored in a folder.
struct Weights {
  std::map<std::string, Tensor> tensors;
  std::string where;  ///< file named in errors: model.safetensors or its index
};

/// Reads `model.safetensors`, or the shards that `model.safetensors.index.json` lists. Throws Error (io) if neither
/// exists; (format) for an index that names a file outside the folder or a tensor missing from its shard, or that lacks
/// a tensor of a shard.
Weights read_weights(const std::string& folder);

/// Paths of the files that read_weights() reads: one, or the index and its shards. Errors as for read_weights().
std::vector<std::string> weight_files(const std::string& folder);

/// Writes one file, or shards of at most so many bytes (a larger tensor gets its own shard), and removes the files of
/// an earlier save in the other form.
void write_weights(const std::string& folder, const std::map<std::string, Tensor>& tensors, int64_t max_shard_bytes);

/// Removes the files of either form.
void remove_weights(const std::string& folder);

}  // namespace tape::models
