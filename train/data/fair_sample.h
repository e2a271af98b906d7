#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tape::train {

/// Which of `count` examples a report shows: drawn without looking at them, the same for the whole run.
struct FairSample {
  std::vector<size_t> places = {};  ///< in ascending order
  std::string drawn = {};           ///< "8 of 500 lines, drawn with seed 1"
};

/// `most` of `count` examples of a kind ("lines"), all of them where there are not more; every choice is equally
/// likely.
FairSample fair_sample(size_t count, size_t most, uint64_t seed, const std::string& kind);

}  // namespace tape::train
