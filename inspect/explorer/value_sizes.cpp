#include "inspect/explorer/value_sizes.h"

#include <algorithm>
#include <unordered_set>

namespace tape::inspect {
namespace {

int64_t in_base64(int64_t elements) { return elements * 16 / 3; }  // of f32

/// Length of a tensor's JSON without its data, beyond that of null, if as little as possible is kept of it.
int64_t bytes_without_data(const Excerpt& excerpt) {
  constexpr int64_t kSize = 5, kWhole = 14, kCut = 8, kColumns = 12, kRange = 56;
  if (!excerpt.values.defined()) return 0;
  const int64_t sizes = kSize * excerpt.shape.rank(), columns = std::ssize(excerpt.columns);
  const Shape& held = excerpt.values.shape();
  if ((excerpt.keep == Keep::all ? held : truncated_shape(held, 1, excerpt.rows_first)) == excerpt.shape)
    return kWhole + sizes;
  return kWhole + kCut + kRange + 2 * sizes + (columns > 0 ? kColumns + kSize * columns : 0);
}

/// A reshaped tensor has the same values, but truncation keeps different ones.
size_t hash_of_part(size_t hash, const Shape& whole, const Shape& kept) {
  if (whole == kept) return hash;
  for (const int64_t size : kept)
    if (size > 1) hash = (hash ^ static_cast<size_t>(size)) * size_t{0x9E3779B1};
  return hash;
}

}  // namespace

void ValueSizes::Tensors::add(const tape::Tensors& more) {
  for (const Tensor& tensor : more)
    if (tensor.defined()) tensors.emplace_back(content_hash(tensor), tensor.numel());
}

ValueSizes::ValueSizes(const Recording& recording) {
  for (const Recording::Operation& operation : recording.operations()) {
    for (const Excerpt& value : operation.values) add(value);
    for (const auto* lists : {&operation.gradients, &operation.contributions})
      for (const std::vector<Excerpt>& one : *lists)
        for (const Excerpt& value : one) add(value);
  }
  for (const Recording::Leaf& leaf : recording.leaves()) {
    add(leaf.shown);
    for (const Excerpt& gradient : leaf.gradients) add(gradient);
  }
}

void ValueSizes::add(const Excerpt& excerpt) {
  besides_ += bytes_without_data(excerpt);
  if (!excerpt.values.defined()) return;
  const Distinct value{excerpt.hash, excerpt.values.shape(), excerpt.keep, excerpt.rows_first, excerpt.is_whole()};
  const auto [begin, end] = places_.equal_range(value.hash);
  if (std::any_of(begin, end, [&](const auto& place) { return distinct_[place.second] == value; })) return;
  places_.emplace(value.hash, distinct_.size());
  distinct_.push_back(value);
}

int64_t ValueSizes::bytes(const ElementLimits& limits, const Tensors& beside) const {
  std::unordered_set<size_t> whole, seen;
  int64_t sum = 0;
  for (const auto& [hash, elements] : beside.tensors)
    if (whole.insert(hash).second) sum += in_base64(elements);
  for (const Distinct& value : distinct_) {
    if (value.is_whole && whole.contains(value.hash)) continue;
    const int64_t most = value.keep == Keep::parameter ? limits.parameters : limits.activations;
    const Shape kept = value.keep == Keep::all ? value.shape : truncated_shape(value.shape, most, value.rows_first);
    if (seen.insert(hash_of_part(value.hash, value.shape, kept)).second) sum += in_base64(kept.numel());
  }
  return sum;
}

}  // namespace tape::inspect
