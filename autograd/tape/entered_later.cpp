#include "autograd/tape/entered_later.h"

#include <utility>

#include "autograd/tape/listeners.h"

namespace tape {
namespace {

thread_local EnteredLater* open = nullptr;

void tell_of(const Ref<Node>& node, TensorList outputs) {
  observe([&](Observer& observer) { observer.entered(*node, outputs); });
}

}  // namespace

EnteredLater::EnteredLater() { open = this; }
EnteredLater::~EnteredLater() { open = nullptr; }

void EnteredLater::tell(const Tensor& output) {
  open = nullptr;  // an observer may record what it likes
  if (const Ref<Node> node = std::exchange(node_, {})) tell_of(node, {output});
}

void EnteredLater::recording() {
  if (!open || !open->node_) return;
  EnteredLater* const later = std::exchange(open, nullptr);
  const Ref<Node> node = std::exchange(later->node_, {});
  tell_of(node, later->outputs_);
  open = later;
}

void EnteredLater::entered(const Ref<Node>& node, TensorList outputs) {
  if (!open) return tell_of(node, outputs);
  open->node_ = node;
  open->outputs_.assign(outputs.begin(), outputs.end());
}

}  // namespace tape
