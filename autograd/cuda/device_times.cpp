#include "autograd/device_times.h"

#include <deque>
#include <utility>

#include "autograd/cuda/context.h"
#include "autograd/cuda/event.h"

namespace tape::device_times {
namespace {

using cuda_device::Event;
using cuda_device::EventTiming;
using cuda_device::UseDevice;

/// Events with timing, which are used again once their times were taken.
class EventMarks : public Marks {
 public:
  explicit EventMarks(Device device) : device_(device) { add(); }

  void add() override {
    const UseDevice use(device_.index());
    std::unique_ptr<Event> event;
    if (unused_.empty()) {
      event = std::make_unique<Event>(EventTiming::on);
    } else {
      event = std::move(unused_.back());
      unused_.pop_back();
    }
    event->record();
    marks_.push_back(std::move(event));
  }

  std::vector<double> take(size_t count) override {
    const UseDevice use(device_.index());
    std::vector<double> seconds;
    seconds.reserve(count);
    if (count > 0) marks_[count]->wait();
    for (; seconds.size() < count; marks_.pop_front()) {
      seconds.push_back(marks_[1]->seconds_since(*marks_[0]));
      unused_.push_back(std::move(marks_[0]));
    }
    return seconds;
  }

 private:
  Device device_;
  std::deque<std::unique_ptr<Event>> marks_;  // the oldest first
  std::vector<std::unique_ptr<Event>> unused_;
};

}  // namespace

std::unique_ptr<Marks> begin(Device device) { return std::make_unique<EventMarks>(device); }

std::vector<Device> devices_in_use() {
  std::vector<Device> devices;
  for (const int index : cuda_device::indices_of_contexts()) devices.emplace_back(Device::Kind::cuda, index);
  return devices;
}

}  // namespace tape::device_times
