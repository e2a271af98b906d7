#include "autograd/tape/entered_later.h"

#include <utility>

#include "autograd/tape/listeners.h"
#include "autograd/tape/modes.h"

namespace tape {
namespace {

using detail::modes;

/// One visit for all that an operation tells.
void tell_of(const Ref<Node>& node, TensorList inputs, TensorList outputs, AttributeList attributes) {
  observe([&](Observer& observer) {
    observer.used(inputs);
    observer.recorded(*node->op, inputs, outputs, attributes);
    observer.entered(*node, outputs);
  });
}

/// Those of a node, which refer to it.
std::vector<AttributeRef> attributes_of(const Node& node) {
  std::vector<AttributeRef> attributes;
  for (const Attribute& given : node.attributes)
    attributes.push_back(
        std::visit([&given](const auto& held) { return AttributeRef(given.name, held); }, given.value));
  return attributes;
}

}  // namespace

EnteredLater::EnteredLater() { modes.entered_later = this; }
EnteredLater::~EnteredLater() { modes.entered_later = nullptr; }

void EnteredLater::tell(const Tensor& output) {
  modes.entered_later = nullptr;  // an observer may record what it likes
  if (const Ref<Node> node = std::exchange(node_, {}))
    tell_of(node, inputs_, {output}, AttributeList(attributes_of(*node)));
}

void EnteredLater::recording() {
  EnteredLater* const later = modes.entered_later;
  if (!later || !later->node_) return;
  modes.entered_later = nullptr;
  const Ref<Node> node = std::exchange(later->node_, {});
  tell_of(node, later->inputs_, later->outputs_, AttributeList(attributes_of(*node)));
  modes.entered_later = later;
}

void EnteredLater::entered(const Ref<Node>& node, TensorList inputs, TensorList outputs, AttributeList attributes) {
  EnteredLater* const later = modes.entered_later;
  if (!later) return tell_of(node, inputs, outputs, attributes);
  later->node_ = node;
  later->inputs_.assign(inputs.begin(), inputs.end());
  later->outputs_.assign(outputs.begin(), outputs.end());
}

}  // namespace tape
