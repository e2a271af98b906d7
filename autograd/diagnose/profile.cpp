#include "autograd/diagnose/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

#include "autograd/device_times.h"
#include "autograd/kernels/runtime/common/work.h"
#include "autograd/memory.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Bytes of the tensors that are not those of `before`, or parts of them, and not returned twice.
double new_bytes(TensorList results, TensorList before) {
  double bytes = 0;
  for (const Tensor& result : results) {
    const auto aliases = [&](const Tensor& other) { return other.defined() && result.shares_storage(other); };
    const auto is_same = [&](const Tensor& other) {
      return aliases(other) && result.impl().offset == other.impl().offset;
    };
    if (!result.defined() || std::any_of(before.begin(), before.end(), aliases)) continue;
    if (std::any_of(results.begin(), &result, is_same)) continue;
    bytes += bytes_of({result});
  }
  return bytes;
}

/// Bytes that an operation reads and writes; a view moves none.
double bytes_of_forward(const Op& op, TensorList inputs, TensorList outputs) {
  const double written = new_bytes(outputs, inputs);
  if (written == 0) return 0;
  double read = bytes_of(inputs);
  // Of a table only the rows are read that the output consists of.
  if (op.traits().axes == AxesFrom::lookup) read -= std::max(0.0, bytes_of({inputs[0]}) - bytes_of(outputs));
  return read + written;
}

double bytes_of_backward(const Node& node, const Tensors& gradients, const Tensors& results) {
  const double written = new_bytes(results, gradients);
  if (written == 0) return 0;
  double read = bytes_of(gradients);
  for (const Node::Saved& saved : node.saved) read += bytes_of({saved.value});
  return read + written;
}

}  // namespace

/// Charges with the time of a GPU that is not known yet.
class Profile::Gpu {
 public:
  /// What an interval between two marks is charged to; null if to nothing.
  struct Charge {
    Cost* cost;
    size_t event;  // index of its event; none if there are as many
  };

  explicit Gpu(Device of) : device(of), marks_(device_times::begin(of)) {}

  void add(const Charge& charge, std::vector<Event>& events) {
    marks_->add();
    charges_.push_back(charge);
    if (charges_.size() == kMostCharges) settle(kMostCharges / 2, events);
  }

  void settle(std::vector<Event>& events) { settle(charges_.size(), events); }

  const Device device;

 private:
  // Far more than a driver accepts without waiting for the GPU, so that the older half has happened.
  static constexpr size_t kMostCharges = 8192;

  void settle(size_t count, std::vector<Event>& events) {
    for (const double seconds : marks_->take(count)) {
      const auto [cost, event] = charges_.front();
      charges_.pop_front();
      const double begin = seconds_;
      seconds_ += seconds;
      if (cost) cost->seconds += seconds;
      if (!cost || event >= events.size()) continue;
      events[event].begin = std::llround(begin * 1e9);
      events[event].end = std::llround(seconds_ * 1e9);
    }
  }

  std::unique_ptr<device_times::Marks> marks_;
  std::deque<Charge> charges_;
  double seconds_ = 0;  // of what was settled
};

Profile::Profile(Keep keep) : keep_(keep) { reset(); }
Profile::~Profile() = default;

void Profile::on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList) {
  bytes_ = bytes_of_forward(op, inputs, outputs);
}

void Profile::on_node(Node& node, TensorList) { charge(Pass::forward, node.name(), bytes_, &node); }

void Profile::on_backward(const Node&) { charge("gradient sums and the tape"); }

void Profile::on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) {
  charge(Pass::backward, node.name(), bytes_of_backward(node, gradients, results), &node);
}

void Profile::charge(std::string_view name) { charge(Pass::other, name, 0, nullptr); }

void Profile::charge(Pass pass, std::string_view name, double bytes, const Node* node) {
  const int64_t time = now();
  if (node && !node->outputs.empty()) device_ = node->outputs[0].device;
  const double flops = kernels::flop_counter() - flops_, seconds = static_cast<double>(time - last_) * 1e-9;
  Cost& cost = costs_[{pass, std::string(name)}];
  ++cost.calls;
  cost.host_seconds += seconds;
  if (device_.is_cpu()) cost.seconds += seconds;
  cost.flops += flops;
  cost.bytes += bytes;
  if (keep_ == Keep::costs_and_events)
    keep_event({.pass = pass,
                .name = std::string(name),
                .attributes = node ? to_string(node->attributes) : "",
                .module_path = {},
                .begin = last_ - begin_,
                .end = time - begin_,
                .flops = flops,
                .bytes = bytes,
                .live_bytes = memory_stats(device_).live_bytes},
               node);
  charge_gpus(cost);
  last_ = time;
  flops_ = kernels::flop_counter();
}

/// Begins to measure the time of a device, unless it is the CPU or measured already.
void Profile::measure(Device device) {
  const auto is_device = [device](const auto& gpu) { return gpu->device == device; };
  if (device.is_cuda() && std::none_of(gpus_.begin(), gpus_.end(), is_device))
    gpus_.push_back(std::make_unique<Gpu>(device));
}

/// Ends the interval of each GPU: that of the device is charged, what others do meanwhile is charged to nothing.
void Profile::charge_gpus(Cost& cost) {
  measure(device_);
  const size_t event = keep_ == Keep::costs_and_events ? events_.size() - 1 : 0;
  for (const auto& gpu : gpus_) gpu->add({gpu->device == device_ ? &cost : nullptr, event}, events_);
}

void Profile::keep_event(Event event, const Node* node) {
  if (event.pass == Pass::forward) {
    event.module_path = ModuleScope::path();
    // The operation's gradient is charged to the same module.
    if (node && !event.module_path.empty()) modules_[node->sequence] = event.module_path;
  } else if (node) {
    if (const auto found = modules_.find(node->sequence); found != modules_.end()) event.module_path = found->second;
  }
  events_.push_back(std::move(event));
}

void Profile::settle() const {
  for (const auto& gpu : gpus_) gpu->settle(events_);
}

const Profile::Costs& Profile::costs() const {
  settle();
  return costs_;
}

const std::vector<Profile::Event>& Profile::events() const {
  settle();
  return events_;
}

void Profile::reset() {
  gpus_.clear();
  costs_.clear();
  events_.clear();
  modules_.clear();
  device_ = default_device();
  for (const Device device : device_times::devices_in_use()) measure(device);
  measure(device_);
  begin_ = last_ = now();
  flops_ = kernels::flop_counter();
}

}  // namespace tape
