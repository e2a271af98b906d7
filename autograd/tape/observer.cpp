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

/// The open observers of a thread, outermost first. One that was closed before those inside it leaves a gap, so that
/// whoever goes through the list stays in his place.
///
/// It has no destructor, and its list lives as long as an observer is open: observers in global variables are closed
/// after the thread's own objects were destroyed.
struct Chain {
  std::vector<Observer*>* open = nullptr;
  size_t hidden = 0;  // so many are not told

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
  if (!chain.open) return;  // of another thread
  std::replace(chain.open->begin(), chain.open->end(), this, static_cast<Observer*>(nullptr));
  chain.settle();
}

void Observer::on_use(TensorList) {}
void Observer::on_record(const Op&, TensorList, TensorList, AttributeList) {}
void Observer::on_node(Node&, TensorList) {}
void Observer::on_backward(const Node&) {}
void Observer::on_backward_done(const Node&, const Tensors&, const Tensors&) {}
void Observer::on_attention(const AttentionCall&) {}
bool Observer::wants_attention_weights() { return false; }
void Observer::on_module_enter(const std::string&) {}
void Observer::on_module_leave(const std::string&) noexcept {}

Unobserved::Unobserved() : previous_(chain.hide(chain.size())) {}
Unobserved::~Unobserved() { chain.hide(previous_); }

void detail::tell_observers(const std::function<void(Observer&)>& event) {
  const size_t first = chain.hidden, end = chain.size();
  const Unobserved event_itself;
  for (size_t i = first; i < end; ++i)
    if (Observer* const observer = (*chain.open)[i]) event(*observer);
}

}  // namespace tape
