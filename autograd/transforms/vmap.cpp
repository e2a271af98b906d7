#include "autograd/transforms/vmap.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/leaves.h"

namespace tape {
namespace {

using Axes = std::vector<std::optional<int64_t>>;
using Function = std::function<Tensors(const Tensors&)>;

/// The inputs of a call with their samples in front; those that are shared stay.
struct Batch {
  Batch(const Tensors& given, const Axes& axes) : inputs(given) {
    if (!axes.empty() && axes.size() != given.size())
      raise(ErrorKind::config, "vmap: {} in_axes for {} inputs", axes.size(), given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      const std::optional<int64_t> axis = axes.empty() ? std::optional<int64_t>(0) : axes[i];
      mapped.push_back(axis.has_value() && given[i].defined());
      if (!mapped[i]) continue;
      const int64_t rank = given[i].rank();
      if (*axis < -rank || *axis >= rank)
        raise(ErrorKind::shape, "vmap: input {} is {}, it has no axis {}", i, to_string(given[i].shape()), *axis);
      inputs[i] = movedim(given[i], *axis, 0);
      const int64_t here = inputs[i].size(0);
      if (samples >= 0 && here != samples)
        raise(ErrorKind::shape, "vmap: input {} has {} samples along axis {}, the inputs before have {}", i, here,
              *axis, samples);
      samples = here;
      sample_rank = std::max(sample_rank, rank - 1);
    }
    if (samples < 1) raise(ErrorKind::shape, "vmap: no input has samples");
  }

  /// All samples at once: ranks made alike by axes of 1 behind that of the samples, so that they broadcast as alone.
  Tensors together() const {
    Tensors all = inputs;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!mapped[i] || all[i].rank() == sample_rank + 1) continue;
      Shape shape = all[i].shape();
      while (shape.rank() < sample_rank + 1) shape = shape.inserted(1, 1);
      all[i] = reshape(all[i], shape);
    }
    return all;
  }
  Tensors alone(int64_t sample) const {
    Tensors one = inputs;
    for (size_t i = 0; i < one.size(); ++i)
      if (mapped[i]) one[i] = select(one[i], 0, sample);
    return one;
  }

  Tensors inputs;
  std::vector<bool> mapped;
  int64_t samples = -1, sample_rank = 0;
};

/// [B, 1, .., 1, ... of `alone`] as [B, ... of `alone`]; undefined for every other shape.
Tensor with_samples(const Tensor& together, const Shape& alone, int64_t samples) {
  const Shape wanted = alone.inserted(0, samples);
  const int64_t extra = together.rank() - wanted.rank();
  if (extra < 0 || together.size(0) != samples || together.numel() != wanted.numel()) return {};
  for (int64_t i = 0; i < alone.rank(); ++i)
    if (together.size(1 + extra + i) != alone[i]) return {};
  return extra == 0 ? together : reshape(together, wanted);
}

/// Whether a sample's values are those it has alone.
bool agrees(const Tensor& together, const Tensor& alone, int64_t sample, int64_t samples) {
  if (together.dtype() != alone.dtype()) return false;
  const Tensor fitting = with_samples(together.detach(), alone.shape(), samples);
  if (!fitting.defined()) return false;
  const Tensor here = select(fitting, 0, sample);
  if (!is_floating(here.dtype())) return allclose(here, alone.detach(), {.rtol = 0, .atol = 0});
  double size = 0;
  const std::vector<double> values = alone.detach().to(f64).to_vector<double>();
  for (const double value : values)
    if (std::isfinite(value)) size = std::max(size, std::abs(value));
  const double tolerance = alone.dtype() == f64 ? 1e-9 : 1e-4;
  return allclose(here, alone.detach(), {.rtol = tolerance, .atol = tolerance * size, .equal_nan = true});
}

/// Keeps the outputs of what a run records.
class Outputs : public Observer {
 public:
  std::vector<std::pair<const Op*, Tensors>> all;

 private:
  void recorded(const Op& op, TensorList, TensorList outputs, AttributeList) override {
    Tensors values;
    for (const Tensor& output : outputs) values.push_back(output.detach());
    all.emplace_back(&op, std::move(values));
  }
};

/// What the function calls, as far as it gets.
std::vector<std::pair<const Op*, Tensors>> operations_of(const Function& f, const Tensors& inputs) {
  const EnableGrad recording;
  Tensors chosen;
  std::vector<size_t> places;
  const Tensors leaves = make_leaves(inputs, chosen, places);
  Outputs outputs;
  try {
    f(leaves);
  } catch (const Error&) {
  }
  return std::move(outputs.all);
}

/// The operation that does something else with all samples than with one, or nothing where none is to blame.
std::string culprit(const Function& f, const Batch& batch, int64_t sample) {
  const auto together = operations_of(f, batch.together()), alone = operations_of(f, batch.alone(sample));
  // What every sample shares is the same in both.
  const auto shared = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() &&
           allclose(a, b, {.rtol = 0, .atol = 0, .equal_nan = true});
  };
  for (size_t k = 0; k < alone.size(); ++k) {
    if (k >= together.size() || together[k].first != alone[k].first) return alone[k].first->name();
    for (size_t i = 0; i < alone[k].second.size(); ++i) {
      const Tensor &all = together[k].second[i], &one = alone[k].second[i];
      if (!agrees(all, one, sample, batch.samples) && !shared(all, one)) return alone[k].first->name();
    }
  }
  return "";
}

[[noreturn]] void refuse(const Function& f, const Batch& batch, int64_t sample, const std::string& why) {
  const std::string operation = culprit(f, batch, sample);
  raise(ErrorKind::graph, "vmap: {} on {} samples at once {}; call the function sample by sample",
        operation.empty() ? "the function" : fmt::format("'{}'", operation), batch.samples, why);
}

Tensors run_together(const Function& f, const Batch& batch) {
  try {
    return f(batch.together());
  } catch (const Error& error) {
    refuse(f, batch, 0, fmt::format("fails ({})", error.what()));
  }
}

Tensors call(const Function& f, const Axes& axes, const Tensors& inputs) {
  const Batch batch(inputs, axes);
  Tensors result;
  for (const int64_t sample : std::set<int64_t>{0, batch.samples / 2, batch.samples - 1}) {
    Tensors alone;
    {
      const NoGrad no_grad;
      const Unobserved unobserved;
      alone = f(batch.alone(sample));
    }
    if (result.empty()) result = run_together(f, batch);
    if (result.size() != alone.size())
      refuse(f, batch, sample, fmt::format("gives {} outputs, on one {}", result.size(), alone.size()));
    for (size_t i = 0; i < alone.size(); ++i) {
      if (!result[i].defined() || !alone[i].defined())
        raise(ErrorKind::graph, "vmap: output {} of the function is undefined", i);
      if (!agrees(result[i], alone[i], sample, batch.samples))
        refuse(f, batch, sample,
               fmt::format("gives something else than on each (output {}: {}, sample {} alone {})", i,
                           to_string(result[i].shape()), sample, to_string(alone[i].shape())));
      result[i] = with_samples(result[i], alone[i].shape(), batch.samples);
    }
  }
  return result;
}

}  // namespace

std::function<Tensors(const Tensors&)> vmap(std::function<Tensors(const Tensors&)> f,
                                            std::vector<std::optional<int64_t>> in_axes) {
  return [f = std::move(f), axes = std::move(in_axes)](const Tensors& inputs) { return call(f, axes, inputs); };
}

std::function<Tensor(const Tensors&)> vmap(std::function<Tensor(const Tensors&)> f,
                                           std::vector<std::optional<int64_t>> in_axes) {
  const Function several = [f = std::move(f)](const Tensors& inputs) { return Tensors{f(inputs)}; };
  return [mapped = vmap(several, std::move(in_axes))](const Tensors& inputs) { return mapped(inputs)[0]; };
}

}  // namespace tape
