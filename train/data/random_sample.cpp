#include "train/data/random_sample.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/random.h"

namespace tape::train {

RandomSample random_sample(size_t count, size_t most, uint64_t seed, const std::string& kind) {
  Generator generator(seed);
  const auto order = randperm(static_cast<int64_t>(count), generator).to_vector<int64_t>();
  RandomSample sample;
  for (size_t i = 0; i < std::min(count, most); ++i) sample.places.push_back(static_cast<size_t>(order[i]));
  std::ranges::sort(sample.places);
  sample.drawn = count <= most ? fmt::format("all {} {}", count, kind)
                               : fmt::format("{} of {} {}, drawn with seed {}", most, count, kind, seed);
  return sample;
}

}  // namespace tape::train
