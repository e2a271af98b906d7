#include "inspect/explorer/tensor_json.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"

namespace tape::inspect {
namespace {

static_assert(std::endian::native == std::endian::little);

/// The leading elements along each axis. Copied if truncated, since a view would keep the whole storage alive.
Tensor first_places(const Tensor& tensor, int64_t most, bool rows_first) {
  const NoGrad no_grad;
  const Shape kept = truncated_shape(tensor.shape(), most, rows_first);
  Tensor values = tensor;
  for (int64_t axis = 0; axis < values.rank(); ++axis)
    if (values.size(axis) > kept[axis]) values = slice(values, axis, {.end = kept[axis]});
  return values.numel() < tensor.numel() ? values.clone() : values;
}

/// Stores range and norm of the whole tensor, which may be freed afterwards.
void note_range(Excerpt& excerpt, const Tensor& tensor) {
  double squares = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  const Tensor all = cast(tensor.detach().to(cpu), f32);
  for (const float value : std::span(all.data<float>(), static_cast<size_t>(all.numel()))) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, static_cast<double>(value));
    high = std::max(high, static_cast<double>(value));
    squares += static_cast<double>(value) * value;
  }
  if (low > high) return;
  excerpt.low = low;
  excerpt.high = high;
  excerpt.norm = std::sqrt(squares);
}

nlohmann::ordered_json sizes(const Shape& shape) { return shape.to_vector(); }

std::string data_of(const Tensor& tensor) {
  const NoGrad no_grad;
  const Tensor values = cast(tensor.detach().to(cpu), f32);
  return base64(
      {reinterpret_cast<const char*>(values.data<float>()), static_cast<size_t>(values.numel()) * sizeof(float)});
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(bytes[i])}; };
  const auto put = [&](char* to, uint32_t group, size_t digits) {
    for (size_t i = 0; i < digits; ++i) to[i] = kDigits[group >> (18 - 6 * i) & 63];
  };
  char* to = text.data();
  size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3, to += 4) {
    const uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    to[0] = kDigits[group >> 18];
    to[1] = kDigits[group >> 12 & 63];
    to[2] = kDigits[group >> 6 & 63];
    to[3] = kDigits[group & 63];
  }
  if (bytes.size() - i == 1) put(to, byte(i) << 16, 2);
  if (bytes.size() - i == 2) put(to, byte(i) << 16 | byte(i + 1) << 8, 3);
  return text;
}

size_t content_hash(const Tensor& tensor) {
  const size_t bytes = static_cast<size_t>(tensor.numel() * size_of(tensor.dtype()));
  const Tensor values = tensor.detach().to(cpu);
  return std::hash<std::string_view>()({static_cast<const char*>(values.raw()), bytes});
}

Shape truncated_shape(const Shape& shape, int64_t most, bool rows_first) {
  constexpr int64_t kPlane = 16;
  std::vector<int64_t> kept = shape.to_vector();
  const size_t leading = kept.size() - std::min<size_t>(kept.size(), 2);
  const auto planes = [&] {
    return std::accumulate(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(leading), int64_t{1},
                           std::multiplies<>());
  };
  if (shape.numel() <= most) return shape;
  for (size_t axis = 0; axis < leading && planes() * kPlane > most; ++axis)
    kept[axis] = std::min<int64_t>(kept[axis], 1);
  const int64_t room = std::max<int64_t>(most / std::max<int64_t>(planes(), 1), 1);
  if (kept.size() == 1) kept[0] = std::min(kept[0], room);
  if (kept.size() < 2) return Shape(kept);
  int64_t &rows = kept[leading], &columns = kept[leading + 1];
  const int64_t side = std::max<int64_t>(static_cast<int64_t>(std::sqrt(static_cast<double>(room))), 1);
  if (rows <= side || (rows_first && rows <= room))
    columns = std::min(columns, room / std::max<int64_t>(rows, 1));
  else if (columns <= side)
    rows = std::min(rows, room / std::max<int64_t>(columns, 1));
  else
    rows = columns = side;
  return Shape(kept);
}

Excerpt excerpt_of(const Tensor& tensor, int64_t most, Keep keep, bool rows_first) {
  if (!tensor.defined()) return {};
  Excerpt excerpt{.shape = tensor.shape(),
                  .values = first_places(tensor.detach(), most, rows_first),
                  .keep = keep,
                  .rows_first = rows_first};
  excerpt.hash = content_hash(excerpt.values);
  if (excerpt.values.shape() != excerpt.shape) note_range(excerpt, tensor);
  return excerpt;
}

Excerpt columns_of(const Tensor& tensor, const std::vector<int64_t>& columns) {
  if (!tensor.defined()) return {};
  const NoGrad no_grad;
  Excerpt excerpt{
      .shape = tensor.shape(),
      .values = index_select(tensor.detach(), -1, from_vector(columns, {std::ssize(columns)}).to(tensor.device())),
      .columns = columns,
      .keep = Keep::all};
  excerpt.hash = content_hash(excerpt.values);
  note_range(excerpt, tensor);
  return excerpt;
}

nlohmann::ordered_json tensor_json(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return {{"shape", sizes(tensor.shape())}, {"data", data_of(tensor)}};
}

nlohmann::ordered_json tensor_json(const Excerpt& excerpt, int64_t most) {
  if (!excerpt.values.defined()) return nullptr;
  const Tensor values =
      excerpt.keep == Keep::all ? excerpt.values : first_places(excerpt.values, most, excerpt.rows_first);
  nlohmann::ordered_json json{{"shape", sizes(excerpt.shape)}, {"data", data_of(values)}};
  if (values.shape() == excerpt.shape) return json;
  json["cut"] = sizes(values.shape());
  if (!excerpt.columns.empty()) json["columns"] = excerpt.columns;
  Excerpt range{.low = excerpt.low, .high = excerpt.high, .norm = excerpt.norm};
  if (excerpt.is_whole()) note_range(range, excerpt.values);
  json["low"] = range.low;
  json["high"] = range.high;
  json["norm"] = range.norm;
  return json;
}

}  // namespace tape::inspect
