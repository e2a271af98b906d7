#pragma once

#include <functional>
#include <memory>
#include <string>

#include "communicator.h"

namespace tape::train {

/// The processes that one `mpirun` started, as ranks; a process that was started alone is alone.
///
///     int main() try {
///       train::World world;
///       ...                                      // TrainerOptions{.ranks = world.ranks(), ...}
///     } catch (const std::exception& error) { std::cerr << error.what() << "\n"; return 1; }
///
/// Make one, at the start of the program, and let it live until the end. Where an exception destroys it, it leaves
/// without the others' consent, so that mpirun notices and ends them: nobody waits for a rank that failed.
class World {
 public:
  /// Error (config) where mpirun started several processes and this library was built without MPI
  /// (TAPEFORMER_MPI), or where there was a World before.
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Null where this process is alone. It must not outlive the World.
  const std::shared_ptr<Communicator>& ranks() const { return ranks_; }
  /// How many of the ranks on this machine may run on the same cores as this one, itself included: 1 where the launcher
  /// gave each its own. They divide the cores among their threads.
  int ranks_on_these_cores() const { return ranks_on_these_cores_; }

 private:
  std::shared_ptr<Communicator> ranks_;
  int ranks_on_these_cores_ = 1;
  int exceptions_ = 0;  // on their way when it was made
};

/// Whether this library was built with MPI.
bool has_mpi();

/// For a program that failed: says why, and ends all ranks with an exit code where there are several. `say` is given
/// what to put in front, "rank 2: " or "". Where all ranks failed alike, rank 0 alone says it: the others wait a moment
/// first.
void end_all_ranks(int code, const std::function<void(const std::string& who)>& say);

}  // namespace tape::train
