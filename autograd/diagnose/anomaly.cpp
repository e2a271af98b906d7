#include "autograd/diagnose/anomaly.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/reduce/totals.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// The non-finite values of a tensor.
struct NotFinite {
  bool nan = false, above = false, below = false;
  int64_t first = -1;  // index of the first fault; of -inf only if there is no NaN or +inf
  double value = 0;    // at first
  bool faulty() const { return nan || above; }
  bool any() const { return faulty() || below; }
};

NotFinite look_at(const Tensor& x) {
  NotFinite found;
  if (!x.defined() || !is_floating(x.dtype())) return found;
  if (is_half(x.dtype())) return look_at(x.detach().to(f32));
  if (all_finite("anomaly", {x})) return found;
  dispatch_floating("anomaly", x.dtype(), [&]<class T>(T) {
    const Tensor host = x.detach().to(cpu);
    const T* values = host.data<T>();
    int64_t first_below = -1;
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (std::isfinite(values[i])) continue;
      const bool below = std::isinf(values[i]) && values[i] < 0;
      if (below && first_below < 0) first_below = i;
      if (!below && found.first < 0) found.first = i;
      found.nan = found.nan || std::isnan(values[i]);
      found.below = found.below || below;
      found.above = found.above || (std::isinf(values[i]) && values[i] > 0);
    }
    if (found.first < 0) found.first = first_below;
    found.value = values[found.first];
  });
  return found;
}

NotFinite look_at_all(TensorList tensors) {
  NotFinite all;
  for (const Tensor& tensor : tensors) {
    const NotFinite found = look_at(tensor);
    all.nan = all.nan || found.nan;
    all.above = all.above || found.above;
    all.below = all.below || found.below;
  }
  return all;
}

/// As in "NaN at [1, 0] of [2, 3]".
std::string place_of(const NotFinite& found, const Tensor& x) {
  const char* what = std::isnan(found.value) ? "NaN" : found.value > 0 ? "inf" : "-inf";
  return fmt::format("{} at [{}] of {}", what, fmt::join(x.shape().unravel(found.first), ", "), to_string(x.shape()));
}

std::string in_parentheses(const Attributes& attributes) {
  return attributes.empty() ? "" : fmt::format(" ({})", to_string(attributes));
}

}  // namespace

void DetectAnomaly::on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) {
  for (const Tensor& output : outputs) {
    const NotFinite made = look_at(output);
    if (!made.any()) continue;
    const NotFinite given = look_at_all(inputs);
    if (!made.faulty() && (given.below || op.traits().produces_neg_inf)) continue;
    const std::string call = op.name() + in_parentheses(Attributes(attributes));
    // A fault before the first recorded operation comes from the data or a parameter.
    for (size_t i = 0; i < inputs.size() && given.faulty(); ++i)
      if (const NotFinite found = look_at(inputs[i]); found.faulty())
        raise(ErrorKind::numeric, "{}: received {} as input {}, which no recorded operation produced", call,
              place_of(found, inputs[i]), i);
    raise(ErrorKind::numeric, "{}: produced {}, from {}", call, place_of(made, output),
          given.below ? "inputs with -inf" : "finite inputs");
  }
}

void DetectAnomaly::on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) {
  const auto raise_at = [&node](const std::string& text) {
    Error error(ErrorKind::numeric,
                fmt::format("backward of '{}'{}: {}", node.name(), in_parentheses(node.attributes), text));
    if (node.trace) error.set_module_path(node.trace->module_path);
    throw error;
  };
  for (size_t i = 0; i < gradients.size(); ++i)
    if (const NotFinite found = look_at(gradients[i]); found.any())
      raise_at(fmt::format("the gradient of output {} is {} (a sum of finite gradients, or the seed)", i,
                           place_of(found, gradients[i])));
  for (size_t i = 0; i < results.size(); ++i)
    if (const NotFinite found = look_at(results[i]); found.any())
      raise_at(fmt::format("produced {} for input {}, from finite gradients", place_of(found, results[i]), i));
}

}  // namespace tape
