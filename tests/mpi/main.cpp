// Tests on the processes started by one mpirun: each runs all tests, in the same order.
#include <gtest/gtest.h>

#include "tests/mpi/ranks.h"

namespace tape {
namespace {
train::World* the_world = nullptr;
}  // namespace
train::World& world() { return *the_world; }
}  // namespace tape

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tape::train::World world;
  tape::the_world = &world;
  tape::train::Communicator& ranks = tape::train::ranks_or_single(world.ranks());
  // Print output that is equal on all ranks once; each rank prints its failures.
  if (!ranks.is_root()) GTEST_FLAG_SET(brief, true);
  const bool failed = RUN_ALL_TESTS() != 0;
  return any(ranks, failed) ? 1 : 0;
}
