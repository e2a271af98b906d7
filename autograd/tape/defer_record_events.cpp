#include "autograd/tape/defer_record_events.h"

#include <utility>

#include "autograd/tape/modes.h"
#include "autograd/tape/observer.h"

namespace tape {
namespace {

using detail::modes;

/// Sends all events of one operation to each observer in turn.
void notify_observers(const Ref<Node>& node, TensorList inputs, TensorList outputs, AttributeList attributes) {
  observe([&](Observer& observer) {
    observer.on_use(inputs);
    observer.on_record(*node->op, inputs, outputs, attributes);
    observer.on_node(*node, outputs);
  });
}

/// The attributes of a node, as references into it.
std::vector<AttributeRef> attributes_of(const Node& node) {
  std::vector<AttributeRef> attributes;
  for (const Attribute& given : node.attributes)
    attributes.push_back(
        std::visit([&given](const auto& held) { return AttributeRef(given.name, held); }, given.value));
  return attributes;
}

}  // namespace

DeferRecordEvents::DeferRecordEvents() { modes.defer_record_events = this; }
DeferRecordEvents::~DeferRecordEvents() { modes.defer_record_events = nullptr; }

void DeferRecordEvents::flush(const Tensor& output) {
  modes.defer_record_events = nullptr;  // observers may record operations themselves
  if (const Ref<Node> node = std::exchange(node_, {}))
    notify_observers(node, inputs_, {output}, AttributeList(attributes_of(*node)));
}

void DeferRecordEvents::send_pending() {
  DeferRecordEvents* const later = modes.defer_record_events;
  if (!later->node_) return;
  modes.defer_record_events = nullptr;
  const Ref<Node> node = std::exchange(later->node_, {});
  notify_observers(node, later->inputs_, later->outputs_, AttributeList(attributes_of(*node)));
  modes.defer_record_events = later;
}

void DeferRecordEvents::defer_or_notify(const Ref<Node>& node, TensorList inputs, TensorList outputs,
                                        AttributeList attributes) {
  DeferRecordEvents* const later = modes.defer_record_events;
  if (!later) return notify_observers(node, inputs, outputs, attributes);
  later->node_ = node;
  later->inputs_.assign(inputs.begin(), inputs.end());
  later->outputs_.assign(outputs.begin(), outputs.end());
}

}  // namespace tape
