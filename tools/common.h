#pragma once

#include <optional>
#include <string>

#include "autograd/tape/scope.h"
#include "optim/adam.h"
#include "tools/arguments.h"
#include "train/distributed/distributed.h"

namespace tape::tools {

/// Options of every command that computes.
struct Common {
  int threads = 0;  ///< 0: as many as the machine has
  bool json = false;
  std::string precision = "highest";
  MatmulPrecision matmul_precision() const;
};
void add_threads(Command& command, Common& common);
/// --overwrite, of commands that write a folder.
void add_overwrite(Command& command, bool& overwrite);
void add_json(Command& command, Common& common);
void add_precision(Command& command, Common& common);
/// What Adam's means are kept as; nothing where it is not said.
void add_optimizer_state(Command& command, std::optional<optim::MomentDtype>& moments);

/// How processes that mpirun started train together.
struct Together {
  std::optional<train::Sharding> zero = {};
  bool bf16 = false;
  train::DistributedOptions options() const;
};
/// Nothing where the library was built without MPI.
void add_distributed(Command& command, Together& together);

/// Threads as asked for, else a share of all cores where other processes are to use them too.
void prepare(const Common& common, int sharing = 1);

}  // namespace tape::tools
