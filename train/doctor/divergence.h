#pragma once

#include <optional>
#include <string>

#include "../runs/events.h"

namespace tape::train {

/// Watches whether a run diverges. A loss counts as grown far where it exceeds the first one by more than half of the
/// loss of guessing, or, where that is not known, is more than 10 times the first one.
class DivergenceWatch {
 public:
  /// chance_loss: of guessing, log(vocabulary) for example.
  explicit DivergenceWatch(std::optional<double> chance_loss = {}) : chance_(chance_loss) {}

  /// A warning that names both losses and the learning rate where the losses of 10 steps in a row have grown far; given
  /// once.
  std::optional<std::string> step(const StepEvent& event);
  /// The same of a validation loss, at once, where the loss of guessing is known.
  std::optional<std::string> evaluation(double loss);

 private:
  bool has_grown_far(double loss) const;
  std::string warning(const char* what, double loss);

  std::optional<double> chance_, first_;
  double highest_lr_ = 0;
  int in_a_row_ = 0;
  bool warned_ = false;
};

}  // namespace tape::train
