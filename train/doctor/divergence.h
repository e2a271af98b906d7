#pragma once

#include <optional>
#include <string>

#include "../runs/events.h"

namespace tape::train {

/// Detects a diverging run. A loss has grown too far if it exceeds the first one by more than half of the chance-level
/// loss or, if that is unknown, is more than 10 times the first one.
class DivergenceWatch {
 public:
  /// chance_loss: loss of random guessing, for example log(vocabulary).
  explicit DivergenceWatch(std::optional<double> chance_loss = {}) : chance_(chance_loss) {}

  /// Returns a warning with both losses and the learning rate after 10 steps in a row whose losses have grown too far.
  /// Warns only once.
  std::optional<std::string> step(const StepEvent& event);
  /// The same for a validation loss, immediately; only if the chance-level loss is known.
  std::optional<std::string> evaluation(double loss);

  // What a run that resumes has seen before.
  std::optional<double> first_loss() const { return first_; }
  double highest_lr() const { return highest_lr_; }
  void resume(std::optional<double> first_loss, double highest_lr) { first_ = first_loss, highest_lr_ = highest_lr; }

 private:
  bool has_grown_far(double loss) const;
  std::string warning(const char* what, double loss);

  std::optional<double> chance_, first_;
  double highest_lr_ = 0;
  int in_a_row_ = 0;
  bool warned_ = false;
};

}  // namespace tape::train
