#include "inspect/tensor_json.h"

#include <bit>

#include <nlohmann/json.hpp>

#include "autograd/ops/cast.h"
#include "autograd/ops/shape.h"
#include "autograd/tape/scope.h"

namespace tape::inspect {
namespace {

static_assert(std::endian::native == std::endian::little);

nlohmann::ordered_json sizes(const Shape& shape) { return shape.to_vector(); }

std::string data_of(const Tensor& tensor) {
  const NoGrad no_grad;
  const Tensor values = cast(tensor.detach(), f32);
  return base64(
      {reinterpret_cast<const char*>(values.data<float>()), static_cast<size_t>(values.numel()) * sizeof(float)});
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 3; ++j)
      group = group << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0u);
    for (size_t digit = 0; digit < 4; ++digit)
      text += i + digit > bytes.size() ? '=' : kDigits[group >> (18 - 6 * digit) & 63];
  }
  return text;
}

Corner corner_of(const Tensor& tensor, int64_t side) {
  if (!tensor.defined()) return {};
  const NoGrad no_grad;
  Tensor values = tensor.detach();
  for (int64_t axis = 0; axis < values.rank(); ++axis) {
    const int64_t most = axis < values.rank() - 2 ? 1 : side;
    if (values.size(axis) > most) values = slice(values, axis, {.end = most});
  }
  // A slice may be a view, which would keep the whole.
  return {tensor.shape(), values.numel() < tensor.numel() ? values.clone() : values};
}

nlohmann::ordered_json tensor_json(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return {{"shape", sizes(tensor.shape())}, {"data", data_of(tensor)}};
}

nlohmann::ordered_json tensor_json(const Corner& corner, int64_t side) {
  if (!corner.values.defined()) return nullptr;
  const Tensor values = corner_of(corner.values, side).values;
  nlohmann::ordered_json json{{"shape", sizes(corner.shape)}, {"data", data_of(values)}};
  if (!(values.shape() == corner.shape)) json["cut"] = sizes(values.shape());
  return json;
}

}  // namespace tape::inspect
