#include "autograd/ops/convolution/spatial.h"

#include <limits>

#include "base/error.h"

namespace tape {

std::vector<int64_t> SpatialSizes::of(const char* operation, const char* name, int64_t axes, int64_t least) const {
  // Products and sums of sizes up to this bound cannot overflow.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (sizes_.size() != 1 && std::ssize(sizes_) != axes)
    raise(ErrorKind::config, "{}: {} has {} sizes for {} axes", operation, name, sizes_.size(), axes);
  for (const int64_t size : sizes_)
    if (size < least || size > kMost)
      raise(ErrorKind::config, "{}: {} must be in [{}, {}], got {}", operation, name, least, kMost, size);
  return sizes_.size() == 1 ? std::vector<int64_t>(static_cast<size_t>(axes), sizes_[0]) : sizes_;
}

}  // namespace tape
