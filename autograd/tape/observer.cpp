#include "autograd/tape/observer.h"

namespace tape {
namespace {
thread_local Observer* innermost = nullptr;
}  // namespace

Observer::Observer() : previous_(innermost) { innermost = this; }
Observer::~Observer() { innermost = previous_; }
Observer* Observer::active() { return innermost; }

void Observer::recorded(const Op&, TensorList, TensorList) {}
void Observer::entered(const Node&, TensorList) {}
void Observer::differentiated(const Node&, const Tensors&, const Tensors&) {}

}  // namespace tape
