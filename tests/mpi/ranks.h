#pragma once

#include "train/distributed/world.h"

namespace tape {

/// The processes that mpirun started with this one; the program's main() makes it.
train::World& world();

}  // namespace tape
