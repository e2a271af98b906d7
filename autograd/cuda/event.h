#pragma once

#include <cstdint>

#include "../../base/non_copyable.h"

namespace tape::cuda_device {

struct Driver;

/// Whether the device notes the time at which an event happens, which costs it more than an event without.
enum class EventTiming : uint8_t { off, on };

/// A point in the work of a device: it has happened when everything that was asked for before record() is done.
class Event : NonCopyable {
 public:
  /// An event of this thread's current device, which has happened until it is recorded.
  explicit Event(EventTiming timing = EventTiming::off);
  ~Event();

  /// Moves the event to the end of the work so far.
  void record();
  /// The same for work that was given to the driver, without what is being collected for graphs.
  void record_launched();
  /// Waits for it, and not for later work. Throws Error (device) if a kernel before it failed.
  void wait() const;
  /// Whether it has happened, without waiting. Throws like wait().
  bool done() const;
  /// Seconds of the device between two events with timing that have both happened. Throws like wait().
  double seconds_since(const Event& earlier) const;

 private:
  const Driver* driver_;
  uint32_t generation_;
  void* handle_ = nullptr;
};

}  // namespace tape::cuda_device
