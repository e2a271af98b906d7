#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../tape/tape.h"

namespace tape {

/// While in scope, charges each operation that this thread records with the time since the previous one ended, so that
/// the cost of the code around an operation (modules, checks, the tape) is included. In a backward, the time between
/// two gradient functions is charged to "gradient sums and the tape", under Pass::other.
///
/// Operations on a GPU are charged with its time, also in events: from the end of the previous operation's kernels to
/// the end of their own. Time in which it waits for launches is charged to the next operation; compare
/// Cost::host_seconds. Nothing waits until the costs are read, or until the GPU is thousands of operations behind. Each
/// operation launches what is collected for graphs (TAPE_CUDA_GRAPHS=1), which therefore are not those of a step.
class Profile : public Observer {
 public:
  /// What the time was spent on: an operation, its gradient function, or something else (see charge()).
  enum class Pass { forward, backward, other };
  /// Total cost of everything with one name in one pass.
  struct Cost {
    int64_t calls = 0;        ///< number of runs
    double seconds = 0;       ///< of the GPU for operations on one, else of the host
    double host_seconds = 0;  ///< wall-clock time of the host
    double flops = 0;         ///< of matrix products and attention
    double bytes = 0;  ///< read and written: inputs and outputs, or gradients and saved values; 0 if nothing is copied
  };
  /// Costs by pass and name: of the operation, or as passed to charge().
  using Costs = std::map<std::pair<Pass, std::string>, Cost>;
  /// One run of an operation. Events follow each other without gaps.
  struct Event {
    Pass pass = Pass::other;  ///< as in Costs
    std::string name;         ///< the same
    std::string attributes;   ///< of the call, as in "axis=1, descending=true"
    std::string module_path;  ///< where it ran; in the backward, where it was recorded; "" outside of modules
    int64_t begin = 0;        ///< nanoseconds since the profile began
    int64_t end = 0;          ///< the same
    double flops = 0;         ///< as in Cost
    double bytes = 0;         ///< as in Cost
    int64_t live_bytes = 0;   ///< of all tensors, at the end
  };
  /// Whether to keep an Event of every run besides the totals.
  enum class Keep { costs, costs_and_events };

  /// Events are needed for write_chrome_trace() (inspect/chrome_trace.h), which shows a timeline.
  explicit Profile(Keep keep = Keep::costs);

  ~Profile() override;

  /// Charges the time since the previous event to something other than an operation, on the device of the previous
  /// operation or else the default device.
  void charge(std::string_view name);
  /// Clears the costs and restarts the clock.
  void reset();
  /// Totals since construction or reset(), and events in order, of which there are none with Keep::costs. Both wait for
  /// GPUs, and throw Error (device) if a kernel failed.
  /// @{
  const Costs& costs() const;
  const std::vector<Event>& events() const;
  /// @}

 private:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_node(Node& node, TensorList outputs) override;
  void on_backward(const Node& node) override;
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) override;
  bool needs_each_gradient() override { return false; }
  /// `node` was recorded or differentiated, or is null.
  void charge(Pass pass, std::string_view name, double bytes, const Node* node);
  void keep_event(Event event, const Node* node);
  void measure(Device device);
  void charge_gpus(Cost& cost);
  void settle() const;

  class Gpu;

  const Keep keep_;
  Device device_;                 // of the previous operation
  int64_t begin_ = 0, last_ = 0;  // nanoseconds
  double flops_ = 0;
  double bytes_ = 0;  // of the operation being recorded
  Costs costs_;
  mutable std::vector<Event> events_;  // times of a GPU are written when they are known
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::unordered_map<uint64_t, std::string> modules_;  // by the node's sequence number
};

}  // namespace tape
