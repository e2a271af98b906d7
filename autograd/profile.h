#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "autograd/tape.h"

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

  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  static Profile* active();
  /// Something ended: charges it with the time since the last call.
  void charge(Pass pass, std::string_view name, double bytes = 0);
  /// Forgets the costs and starts the clock again.
  void reset();
  const Costs& costs() const { return costs_; }

 private:
  Profile* const previous_;
  double last_ = 0;
  double flops_ = 0;
  Costs costs_;
};

/// Of the values of all tensors that are defined.
double bytes_of(TensorList tensors);

}  // namespace tape
