#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "../autograd/tensor.h"

namespace tape {

/// Values that the nodes of one operation in one module save for the backward pass.
struct SavedTensorsEntry {
  std::string module_path = {};  ///< "" outside modules, or if no Trace scope was open
  std::string operation = {};    ///< name of the operation; "" in by_module()
  int64_t values = 0;            ///< number of storages
  int64_t bytes = 0;             ///< of these storages
};

/// Bytes that checkpoint() around a module's calls would free.
struct CheckpointSaving {
  std::string module_path = {};  ///< path of the module
  int64_t bytes = 0;             ///< freed, less those of inputs that would be saved instead
};

/// The values that a tape saves for its backward pass. Each storage counts once, for the first node that saved it.
struct SavedTensorsReport {
  std::vector<SavedTensorsEntry> entries;     ///< one per module and operation, largest first
  std::vector<CheckpointSaving> checkpoints;  ///< modules where a checkpoint frees memory, largest saving first
  int64_t values = 0;                         ///< number of storages in all entries
  int64_t bytes = 0;                          ///< of all entries
  int64_t parameter_bytes = 0;                ///< of leaves that the tape references, which exist anyway

  /// The entries summed per operation or per module, largest first.
  /// @{
  std::vector<SavedTensorsEntry> by_operation() const;
  std::vector<SavedTensorsEntry> by_module() const;
  /// @}
};

/// Returns the saved values of a loss's tape; call it before backward(). Module paths are known if a Trace scope was
/// open.
///
/// A checkpoint of a module would free values that only its nodes save, except the module's inputs, and it would save
/// those inputs that nothing saves now. Values without gradients (masks, ids) count as the module's own, since they
/// cannot be told apart from its inputs. Values that a gradient function captured other than through saved tensors, as
/// attention captures its mask, are not counted. Throws Error (graph) if the loss is not on a tape.
SavedTensorsReport saved_tensors(const Tensor& loss);

/// Formats tables of the largest entries and the best checkpoints, with at most `rows` rows each.
std::string to_string(const SavedTensorsReport& ledger, size_t rows = 20);
/// Writes to_string(ledger).
std::ostream& operator<<(std::ostream& stream, const SavedTensorsReport& ledger);

}  // namespace tape
