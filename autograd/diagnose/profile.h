#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../tape/tape.h"

namespace tape {

/// While in scope, each operation that this thread records is charged with the time since the one before it ended: what
/// the code around an operation costs (modules, checks, the tape) is its operation's. In a backward the time between
/// two gradient functions is that of "gradient sums and the tape", under Pass::other.
class Profile : public Observer {
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
    std::string attributes;   ///< "axis=1, descending=true", of the call
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

  /// Something else than an operation ended: charges it with the time since what ended before it.
  void charge(std::string_view name) { charge(Pass::other, name, 0, nullptr); }
  /// Forgets the costs and starts the clock again.
  void reset();
  const Costs& costs() const { return costs_; }
  const std::vector<Event>& events() const { return events_; }

 private:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_node(Node& node, TensorList outputs) override;
  void on_backward(const Node& node) override;
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) override;
  /// `node` is what was recorded or differentiated.
  void charge(Pass pass, std::string_view name, double bytes, const Node* node);
  void keep_event(Event event, const Node* node);

  const Keep keep_;
  int64_t begin_ = 0, last_ = 0;  // nanoseconds
  double flops_ = 0;
  double bytes_ = 0;  // of the operation that is being recorded
  Costs costs_;
  std::vector<Event> events_;
  std::unordered_map<uint64_t, std::string> modules_;  // by a node's place in recording order
};

}  // namespace tape
