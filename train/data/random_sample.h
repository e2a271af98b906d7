#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tape::train {

/// The examples, out of `count`, that a report shows: drawn without regard to their content, fixed for the whole run.
struct RandomSample {
  std::vector<size_t> places = {};  ///< indices, ascending
  std::string drawn = {};           ///< "8 of 500 lines, drawn with seed 1"
};

/// Draws at most `most` of `count` examples of a kind ("lines"), every selection equally likely.
RandomSample random_sample(size_t count, size_t most, uint64_t seed, const std::string& kind);

}  // namespace tape::train
