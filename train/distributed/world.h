#pragma once

#include <functional>
#include <memory>
#include <string>

#include "communicator.h"

namespace tape::train {

/// The processes started by one `mpirun`, as ranks; or a single process.
///
///     int main() try {
///       train::World world;
///       ...                                      // TrainerOptions{.ranks = world.ranks(), ...}
///     } catch (const std::exception& error) { std::cerr << error.what() << "\n"; return 1; }
///
/// Create one at the start of the program and keep it until the end. If an exception destroys it, it leaves without
/// waiting for the other ranks, so that mpirun notices and ends them. In a program that has initialized MPI itself,
/// with MPI_THREAD_FUNNELED or more, it uses that and leaves MPI_Finalize to the program.
class World {
 public:
  /// Throws Error (config) if mpirun started several processes and this library was built without MPI (TAPEFORMER_MPI),
  /// if the program has initialized MPI without support for threads, or if a World was created before.
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Null in a single process. It must not outlive the World.
  const std::shared_ptr<Communicator>& ranks() const { return ranks_; }
  /// Number of ranks on this machine, including this one, that may run on the same cores and so have to share them: 1
  /// if the launcher bound each rank to its own cores.
  int ranks_sharing_cores() const { return ranks_on_these_cores_; }
  /// This process among those on its machine, from 0.
  int rank_on_machine() const { return rank_on_machine_; }

 private:
  std::shared_ptr<Communicator> ranks_;
  int ranks_on_these_cores_ = 1, rank_on_machine_ = 0;
  int exceptions_ = 0;  // uncaught exceptions at construction
};

/// Whether this library was built with MPI.
bool has_mpi();

/// For a program that failed, with or without a World: prints the error and, with several ranks in a World, aborts all
/// of them with an exit code. `say` receives a prefix for the message, "rank 2: " or "". If all ranks failed alike,
/// only rank 0 prints: the others wait a moment first, in which mpirun ends them.
void abort_all_ranks(int code, const std::function<void(const std::string& who)>& say);

}  // namespace tape::train
