#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

#include "../runs/run_folder.h"

namespace tape::train {

/// Number of steps of a run with limited time: as requested, or as many as this machine can make.
struct PlannedSteps {
  int64_t asked = 0, steps = 0;

  /// The value to store in the run's settings, so that a resumed run makes the same steps at any speed.
  nlohmann::ordered_json setting() const;
};

/// Plans for `budget` seconds (0: unlimited) with the measured `seconds_per_step`; at least 50 steps. A resumed run
/// keeps the plan of its newest checkpoint. Prints on `out` if there are fewer steps than requested.
PlannedSteps plan_steps(int64_t asked, double budget, const RunFolder* folder,
                        const std::function<double()>& seconds_per_step, std::ostream& out);

}  // namespace tape::train
