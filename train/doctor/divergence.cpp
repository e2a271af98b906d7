#include "train/doctor/divergence.h"

#include <algorithm>

#include <fmt/format.h>

namespace tape::train {

bool DivergenceWatch::has_grown_far(double loss) const {
  return first_ && loss > (chance_ ? *first_ + *chance_ / 2 : 10 * *first_);
}

std::string DivergenceWatch::warning(const char* what, double loss) {
  warned_ = true;
  const std::string guessing = chance_ ? fmt::format(" and {:.4g} for guessing", *chance_) : "";
  return fmt::format(
      "{} has grown to {:.4g}, from {:.4g} at the first step{}: the run is diverging. The learning rate, up to {:g} so "
      "far, is probably too high (--lr)",
      what, loss, *first_, guessing, highest_lr_);
}

std::optional<std::string> DivergenceWatch::step(const StepEvent& event) {
  constexpr int kInARow = 10;  // a single bad batch is not divergence
  if (!first_) first_ = event.loss;
  highest_lr_ = std::max(highest_lr_, event.lr);
  in_a_row_ = has_grown_far(event.loss) ? in_a_row_ + 1 : 0;
  if (warned_ || in_a_row_ < kInARow) return std::nullopt;
  return warning("the training loss", event.loss);
}

std::optional<std::string> DivergenceWatch::evaluation(double loss) {
  if (warned_ || !chance_ || !has_grown_far(loss)) return std::nullopt;
  return warning("the validation loss", loss);
}

}  // namespace tape::train
