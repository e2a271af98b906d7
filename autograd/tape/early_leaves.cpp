#include "autograd/tape/early_leaves.h"

#include <utility>

namespace tape {
namespace {
thread_local bool leaves_are_early = false;
}  // namespace

EarlyLeaves::EarlyLeaves() : previous_(std::exchange(leaves_are_early, true)) {}
EarlyLeaves::~EarlyLeaves() { leaves_are_early = previous_; }
bool EarlyLeaves::active() { return leaves_are_early; }

}  // namespace tape
