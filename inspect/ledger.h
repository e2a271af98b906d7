#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "../autograd/tensor.h"

namespace tape {

/// What the nodes of one operation in one module keep for the backward.
struct LedgerEntry {
  std::string module_path = {};  ///< "" outside of modules, and where no Trace scope was open
  std::string operation = {};
  int64_t values = 0;
  int64_t bytes = 0;
};

/// What checkpoint() around a module's calls would keep no longer.
struct CheckpointSaving {
  std::string module_path = {};
  int64_t bytes = 0;
};

/// The values that a tape keeps for its backward. Each storage is counted once, for the first node that saved it.
struct Ledger {
  std::vector<LedgerEntry> entries;           ///< one a module and operation, the largest first
  std::vector<CheckpointSaving> checkpoints;  ///< modules that a checkpoint would help, the most first
  int64_t values = 0;
  int64_t bytes = 0;            ///< of all entries
  int64_t parameter_bytes = 0;  ///< of leaves that the tape also refers to: they are there anyway

  /// The entries of equal operation, or of equal module, added up; the largest first.
  std::vector<LedgerEntry> by_operation() const;
  std::vector<LedgerEntry> by_module() const;
};

/// The ledger of the tape behind a loss, before its backward. Modules are known where a Trace scope was open.
///
/// A checkpoint of a module would free what its nodes alone hold, but not the module's inputs, and it would hold those
/// inputs that nothing held before. Of values without gradients (masks, ids) a module's own cannot be told from those
/// that it was given: they count as its own. What a gradient function captured beside its saved values, as attention
/// does a mask, is not seen. Error (graph) for a loss without a tape.
Ledger saved_tensors(const Tensor& loss);

/// Tables of the largest entries and of the best checkpoints, so many rows of each at most.
std::string to_string(const Ledger& ledger, size_t rows = 20);
std::ostream& operator<<(std::ostream& stream, const Ledger& ledger);

}  // namespace tape
