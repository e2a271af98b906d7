// Tests on the processes started by one mpirun: each runs all tests, in the same order. With --own-mpi the program
// itself initializes and finalizes MPI.
#include <mpi.h>

#include <iostream>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/mpi/ranks.h"

namespace tape {
namespace {
train::World* the_world = nullptr;

bool some_rank_fails() {
  train::World world;
  the_world = &world;
  train::Communicator& ranks = train::ranks_or_single(world.ranks());
  // Print output that is equal on all ranks once; each rank prints its failures.
  if (!ranks.is_root()) GTEST_FLAG_SET(brief, true);
  const bool failed = RUN_ALL_TESTS() != 0;
  return any(ranks, failed);
}
}  // namespace
train::World& world() { return *the_world; }
}  // namespace tape

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool own_mpi = argc > 1 && std::string_view(argv[1]) == "--own-mpi";
  int threads = 0, initialized = 0, finalized = 0;
  if (own_mpi) MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  bool failed = tape::some_rank_fails();
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized && (finalized != 0) == own_mpi) {
    std::cerr << (own_mpi ? "World has finalized the program's MPI\n" : "World has not finalized MPI\n");
    failed = true;
  }
  if (own_mpi && !finalized) MPI_Finalize();
  return failed ? 1 : 0;
}
