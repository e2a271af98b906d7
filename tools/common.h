#pragma once

#include <optional>
#include <string>

#include "autograd/tape/scope.h"
#include "optim/adam.h"
#include "tools/arguments.h"
#include "train/distributed/distributed.h"

namespace tape::tools {

/// Options of all commands that compute.
struct Common {
  int threads = 0;  ///< 0: all cores
  bool json = false;
  std::string precision = "highest";
  MatmulPrecision matmul_precision() const;
  std::string device = "cpu";
};
void add_threads(Command& command, Common& common);
/// Adds --overwrite, for commands that write a folder.
void add_overwrite(Command& command, bool& overwrite);
void add_json(Command& command, Common& common);
void add_precision(Command& command, Common& common);
void add_device(Command& command, Common& common);
/// Dtype of Adam's state; empty if not given.
void add_optimizer_state(Command& command, std::optional<optim::MomentDtype>& moments);

/// Options of data-parallel training under mpirun.
struct DistributedArguments {
  std::optional<train::Sharding> zero = {};
  bool bf16 = false;
  train::DistributedOptions options() const;
};
/// Adds no options if the library was built without MPI.
void add_distributed(Command& command, DistributedArguments& together);

/// Sets the number of threads: the requested one, else all cores, divided among processes on the same machine.
void prepare(const Common& common, int sharing = 1);
/// Creates tensors on the requested device while the result lives. Under mpirun, `cuda` is a GPU of this process: the
/// `rank`-th one of the machine, in turn (World::rank_on_machine()). Throws Error (device) if there is no such device.
[[nodiscard]] DeviceScope use_device(const Common& common, int rank = 0);

}  // namespace tape::tools
