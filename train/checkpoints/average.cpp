#include "train/checkpoints/average.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/device_memory.h"
#include "autograd/tape/scope.h"
#include "base/error.h"
#include "base/short_list.h"

namespace tape::train {

MovingAverage::MovingAverage(const nn::Module& model, double decay)
    : parameters_(model.named_parameters()), decay_(decay) {
  if (!(decay > 0 && decay < 1))
    raise(ErrorKind::config, "MovingAverage: decay must be between 0 and 1, got {}", decay);
  const NoGrad no_grad;
  for (const NamedTensor& named : parameters_) values_.emplace(named.name, named.tensor.detach().clone());
}

void MovingAverage::update(int64_t step) {
  const NoGrad no_grad;
  const double t = static_cast<double>(step), d = std::min(decay_, (1 + t) / (10 + t));
  for (const NamedTensor& named : parameters_) {
    Tensor& average = values_.at(named.name);
    average.mul_(d);
    average.add_(named.tensor.detach(), 1 - d);
  }
}

void MovingAverage::load(const nn::StateDict& values) {
  const NoGrad no_grad;
  std::vector<std::string> problems;
  for (const auto& [name, own] : values_) {
    const auto given = values.find(name);
    if (given == values.end())
      problems.push_back(fmt::format("missing: \"{}\" {}", name, to_string(own.shape())));
    else if (given->second.shape() != own.shape() || given->second.dtype() != own.dtype())
      problems.push_back(fmt::format("\"{}\" is {} {}, expected {} {}", name, to_string(given->second.dtype()),
                                     to_string(given->second.shape()), to_string(own.dtype()), to_string(own.shape())));
  }
  for (const auto& [name, tensor] : values)
    if (!values_.contains(name)) problems.push_back(fmt::format("unexpected: \"{}\"", name));
  if (!problems.empty())
    raise(ErrorKind::format, "MovingAverage: the values do not match the model:\n  {}", short_list(problems, "\n  "));
  for (auto& [name, own] : values_) own.copy_(values.at(name));
}

ScopedWeights::ScopedWeights(nn::Module& model, const nn::StateDict& values) {
  const NoGrad no_grad;
  nn::StateDict wanted = model.state_dict();
  originals_.reserve(wanted.size());
  for (const auto& [name, tensor] : wanted) originals_.push_back({tensor, tensor.detach().clone()});
  for (const auto& [name, tensor] : values) wanted[name] = tensor;
  try {
    model.load_state_dict(wanted);
  } catch (...) {
    restore();
    throw;
  }
}

ScopedWeights::~ScopedWeights() { restore(); }

void ScopedWeights::restore() noexcept {
  const NoGrad no_grad;
  for (Original& original : originals_) {
    const Tensor& values = original.values;
    TensorImpl& place = original.tensor.impl();
    try {
      if (place.shape == values.shape() && place.dtype == values.dtype()) {  // allocates nothing
        place.storage->bump_version();
        copy_bytes(original.tensor.device(), original.tensor.device_raw(), values.device(), values.device_raw(),
                   values.numel() * size_of(values.dtype()));
      } else {
        original.tensor.copy_(values);  // the model was converted meanwhile
      }
    } catch (const std::exception&) {
      // The shape changed, or there is no memory to convert, or a GPU failed: a destructor cannot report it.
    }
  }
}

nn::StateDict average_states(const std::vector<nn::StateDict>& states) {
  if (states.empty()) raise(ErrorKind::config, "average_states: no states to average");
  const NoGrad no_grad;
  for (const nn::StateDict& state : states) {
    if (state.size() != states.back().size())
      raise(ErrorKind::format, "average_states: {} tensors in one state, {} in another", state.size(),
            states.back().size());
    for (const auto& [name, tensor] : states.back()) {
      const auto other = state.find(name);
      if (other == state.end()) raise(ErrorKind::format, "average_states: \"{}\" is not in every state", name);
      if (other->second.shape() != tensor.shape() || other->second.dtype() != tensor.dtype())
        raise(ErrorKind::format, "average_states: \"{}\" is {} {} in one state, {} {} in another", name,
              to_string(other->second.dtype()), to_string(other->second.shape()), to_string(tensor.dtype()),
              to_string(tensor.shape()));
    }
  }
  nn::StateDict mean;
  for (const auto& [name, last] : states.back()) {
    if (!is_floating(last.dtype())) {
      mean.emplace(name, last.detach().clone());
      continue;
    }
    Tensor sum = zeros(last.shape(), {f64, last.device()});
    for (const nn::StateDict& state : states) sum.add_(state.at(name).detach().to(f64));
    sum.mul_(1 / static_cast<double>(states.size()));
    mean.emplace(name, sum.to(last.dtype()));
  }
  return mean;
}

nn::StateDict average_checkpoints(const std::vector<std::string>& folders, const CheckpointFiles& files) {
  std::vector<nn::StateDict> states;
  states.reserve(folders.size());
  for (const std::string& folder : folders) states.push_back(load_checkpoint_model(folder, files));
  return average_states(states);
}

}  // namespace tape::train
