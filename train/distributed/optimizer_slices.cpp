#include "train/distributed/optimizer_slices.h"

#include <string>

#include <fmt/format.h>

#include "autograd/ops/shape/shape.h"
#include "base/error.h"

namespace tape::train {
namespace {

/// View of the slice's values in its parameter.
Tensor row_in(const Tensor& parameter, const ParameterSlice& slice) {
  const TensorImpl& impl = parameter.impl();
  const int64_t offset = impl.offset + slice.begin * size_of(impl.dtype);
  return Tensor(Ref<TensorImpl>(new TensorImpl(impl.storage, offset, Shape{slice.count}, impl.dtype)));
}

std::string type_of(const Tensor& x) { return fmt::format("{} {}", to_string(x.dtype()), to_string(x.shape())); }

}  // namespace

OptimizerSlices::OptimizerSlices(optim::Optimizer& optimizer, const std::vector<ParameterSlice>& slices)
    : optimizer_(optimizer), parameters_(optimizer.parameters()), slices_(parameters_.size()) {
  if (slices.size() != parameters_.size())
    raise(ErrorKind::config, "OptimizerSlices: got {} slices for {} parameters", slices.size(), parameters_.size());
  if (optimizer.is_sharded()) raise(ErrorKind::config, "OptimizerSlices: the optimizer already uses slices");
  for (const ParameterSlice& slice : slices) {
    const auto [number, begin, count] = slice;
    TAPE_ASSERT(number < parameters_.size());
    const Tensor& parameter = parameters_[number];
    if (begin < 0 || count < 0 || begin > parameter.numel() || count > parameter.numel() - begin)
      raise(ErrorKind::config, "OptimizerSlices: {} values from index {} do not fit in {}", count, begin,
            optimizer.label(number));
    slices_[number] = slice;
  }
  optimizer_.shard_state([slices = slices_](size_t i, const Tensor& whole) {
    const int64_t begin = slices[i].begin, end = begin + slices[i].count;
    return slice(reshape(whole, {whole.numel()}), 0, {.start = begin, .end = end}).clone();
  });
}

void OptimizerSlices::step(const std::vector<SliceGradient>& gradients, const optim::StepOptions& options) {
  std::vector<optim::ShardGradient> parts;
  for (const auto& [number, gradient, elsewhere] : gradients) {
    TAPE_ASSERT(number < parameters_.size());
    const ParameterSlice& slice = slices_[number];
    const Tensor values = elsewhere.defined() ? elsewhere : row_in(parameters_[number], slice);
    if (!(gradient.shape() == Shape{slice.count}) || gradient.dtype() != parameters_[number].dtype())
      raise(ErrorKind::shape, "OptimizerSlices: the gradient of {} is {}, expected {} [{}]", optimizer_.label(number),
            type_of(gradient), to_string(parameters_[number].dtype()), slice.count);
    if (!(values.shape() == gradient.shape()) || values.dtype() != gradient.dtype())
      raise(ErrorKind::shape, "OptimizerSlices: the values of {} are {}, but their gradient is {}",
            optimizer_.label(number), type_of(values), type_of(gradient));
    parts.push_back({.parameter = number, .gradient = gradient, .values = values, .first = slice.begin});
  }
  optimizer_.step_shards(parts, options);
}

}  // namespace tape::train
