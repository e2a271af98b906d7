#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

#include "../runs/run_folder.h"

namespace tape::train {

/// How many steps a run makes that has limited time: all that were asked for, or as many as this machine can make.
struct PlannedSteps {
  int64_t asked = 0, steps = 0;

  /// What the run's settings keep, so that a resumed run makes the same steps whatever the pace of its machine.
  nlohmann::ordered_json setting() const;
};

/// Plans for `budget` seconds, 0 being any time, with what `seconds_per_step` measures; at least 50 steps. A run that
/// resumes keeps the plan of its newest checkpoint. Fewer steps are reported on `out`.
PlannedSteps plan_steps(int64_t asked, double budget, const RunFolder* folder,
                        const std::function<double()>& seconds_per_step, std::ostream& out);

}  // namespace tape::train
