#pragma once

#include "train/distributed/world.h"

namespace tape {

/// The processes that mpirun started, including this one; created by main().
train::World& world();

}  // namespace tape
