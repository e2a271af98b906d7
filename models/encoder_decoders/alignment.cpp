#include "models/encoder_decoders/alignment.h"

#include <algorithm>

#include "autograd/ops/elementwise/cast.h"
#include "base/error.h"

namespace tape::models {

std::vector<std::pair<int64_t, int64_t>> aligned_tokens(const Tensor& alignment,
                                                        std::span<const uint8_t> special_tokens_mask) {
  if (alignment.rank() != 2 || alignment.size(1) != std::ssize(special_tokens_mask))
    raise(ErrorKind::shape, "aligned_tokens: the alignment must be [T, S], got {} for {} tokens of the source",
          to_string(alignment.shape()), special_tokens_mask.size());
  std::vector<int64_t> place(special_tokens_mask.size(), -1);
  int64_t places = 0;
  for (size_t s = 0; s < place.size(); ++s)
    if (!special_tokens_mask[s]) place[s] = places++;
  const std::vector<double> weights = cast(alignment, f64).to_vector<double>();
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t t = 0; t < alignment.size(0) && !place.empty(); ++t) {
    const auto row = weights.begin() + t * std::ssize(place);
    const auto best = static_cast<size_t>(std::max_element(row, row + std::ssize(place)) - row);
    if (place[best] >= 0) pairs.emplace_back(place[best], t);
  }
  return pairs;
}

}  // namespace tape::models
