#include "models/heads/length_batches.h"

#include <algorithm>

#include "autograd/create.h"
#include "base/error.h"

namespace tape::models {

std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> lengths, int64_t batch_tokens) {
  if (batch_tokens < 1) raise(ErrorKind::config, "batch_tokens must be at least 1, got {}", batch_tokens);
  std::vector<int64_t> order;
  for (int64_t place = 0; place < std::ssize(lengths); ++place)
    if (lengths[static_cast<size_t>(place)] > 0) order.push_back(place);
  const auto length = [&](int64_t place) { return lengths[static_cast<size_t>(place)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  std::vector<std::vector<int64_t>> batches;
  for (const int64_t place : order) {
    // The first of a batch is its longest. Divide, because a product might overflow.
    const bool full = batches.empty() || std::ssize(batches.back()) + 1 > batch_tokens / length(batches.back().front());
    if (full) batches.emplace_back();
    batches.back().push_back(place);
  }
  return batches;
}

Tensor padded_rows(std::span<const std::vector<int64_t>> rows, std::span<const int64_t> which, int64_t padding_id) {
  int64_t longest = 0;
  for (const int64_t row : which) longest = std::max<int64_t>(longest, std::ssize(rows[static_cast<size_t>(row)]));
  std::vector<int64_t> ids;
  ids.reserve(which.size() * static_cast<size_t>(longest));
  for (const int64_t row : which) {
    const std::vector<int64_t>& from = rows[static_cast<size_t>(row)];
    ids.insert(ids.end(), from.begin(), from.end());
    ids.resize(ids.size() + static_cast<size_t>(longest - std::ssize(from)), padding_id);
  }
  return from_vector(ids, {std::ssize(which), longest});
}

}  // namespace tape::models
