#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../tape/tape.h"

namespace tape {

/// While in scope, each operation of this thread is charged with the time since the one before it ended: what the code
/// around an operation costs (modules, checks, the tape) is its operation's.
class Profile {
 public:
  enum class Pass { forward, backward, other };
  struct Cost {
    int64_t calls = 0;
    double seconds = 0;
    double flops = 0;  ///< of matrix products and attention
    double bytes = 0;  ///< of the operation's inputs, outputs and saved values
  };
  using Costs = std::map<std::pair<Pass, std::string>, Cost>;
  /// One operation, as it ran. Events follow each other without gaps.
  struct Event {
    Pass pass = Pass::other;
    std::string name;
    std::string module_path;  ///< that it ran in, in the backward that it was recorded in; "" outside of modules
    int64_t begin = 0;        ///< nanoseconds since the profile began
    int64_t end = 0;          ///< the same
    double flops = 0;         ///< as Cost's
    double bytes = 0;         ///< as Cost's
    int64_t live_bytes = 0;   ///< of all tensors, when it ended
  };
  enum class Keep { costs, costs_and_events };

  /// With events, write_chrome_trace() of inspect/chrome_trace.h can show the time as a picture.
  explicit Profile(Keep keep = Keep::costs);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  static Profile* active();
  /// Something ended: charges it with the time since the last call.
  /// `node` is what was recorded or differentiated.
  void charge(Pass pass, std::string_view name, double bytes = 0, const Node* node = nullptr);
  /// Forgets the costs and starts the clock again.
  void reset();
  const Costs& costs() const { return costs_; }
  const std::vector<Event>& events() const { return events_; }

 private:
  void keep_event(Event event, const Node* node);

  Profile* const previous_;
  const Keep keep_;
  int64_t begin_ = 0, last_ = 0;  // nanoseconds
  double flops_ = 0;
  Costs costs_;
  std::vector<Event> events_;
  std::unordered_map<uint64_t, std::string> modules_;  // by a node's place in recording order
};

/// Of the values of all tensors that are defined.
double bytes_of(TensorList tensors);

}  // namespace tape
