#include "autograd/tape/observer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autograd/tape/tape.h"

namespace tape {
namespace detail {

constinit thread_local bool is_observed = false;

}  // namespace detail

namespace {

/// The open observers of a thread, outermost first. Closing one before those inside it leaves a gap, so that indices
/// stay valid during iteration.
///
/// Has no destructor, and its list lives while any observer is open: observers in global variables are closed after
/// thread-local objects are destroyed.
struct Chain {
  std::vector<Observer*>* open = nullptr;
  size_t hidden = 0;  // number of outermost observers that receive no events

  size_t size() const { return open ? open->size() : 0; }
  void settle() {
    while (size() > hidden && !open->back()) open->pop_back();
    if (size() == 0) delete std::exchange(open, nullptr);
    detail::is_observed = size() > hidden;
  }
  size_t hide(size_t count) {
    const size_t previous = std::exchange(hidden, count);
    settle();
    return previous;
  }
};

constinit thread_local Chain chain;

}  // namespace

Observer::Observer() {
  if (!chain.open) chain.open = new std::vector<Observer*>;
  chain.open->push_back(this);
  chain.settle();
}

Observer::~Observer() {
  if (!chain.open) return;  // opened by another thread
  std::replace(chain.open->begin(), chain.open->end(), this, static_cast<Observer*>(nullptr));
  chain.settle();
}

void Observer::on_use(TensorList) {}
void Observer::on_record(const Op&, TensorList, TensorList, AttributeList) {}
void Observer::on_node(Node&, TensorList) {}
void Observer::on_backward(const Node&) {}
void Observer::on_backward_done(const Node&, const Tensors&, const Tensors&) {}
void Observer::on_attention(AttentionCall&) {}
bool Observer::needs_each_gradient() { return true; }
bool Observer::wants_attention_weights() { return false; }
void Observer::on_module_enter(const std::string&) {}
void Observer::on_module_leave(const std::string&) noexcept {}

HideObservers::HideObservers() : previous_(chain.hide(chain.size())) {}
HideObservers::~HideObservers() { chain.hide(previous_); }

void detail::tell_observers(const std::function<void(Observer&)>& event) {
  const size_t first = chain.hidden, end = chain.size();
  const HideObservers event_itself;
  for (size_t i = first; i < end; ++i)
    if (Observer* const observer = (*chain.open)[i]) event(*observer);
}

}  // namespace tape
