#include "autograd/tape/op.h"

#include <algorithm>
#include <cstring>

#include "autograd/create.h"
#include "base/static_list.h"

namespace tape {
namespace {
constinit StaticList<Op> library_ops, program_ops;
constinit StaticList<OpSamples> library_samples;

StaticList<Op>& registry(Origin origin) { return origin == Origin::library ? library_ops : program_ops; }
}  // namespace

Op::Op(OpDefinition definition, Origin origin) : definition_(std::move(definition)), origin_(origin) {
  if (is_registered()) registry(origin_).add(*this);
}

Op::~Op() {
  if (is_registered()) registry(origin_).remove(*this);
}

std::vector<OpSample> Op::samples() const {
  if (definition_.samples) return definition_.samples();
  for (const OpSamples* one : library_samples.all())
    if (std::strcmp(one->op(), name()) == 0) return one->samples();
  return {};
}

OpSamples::OpSamples(const char* op, Samples samples) : op_(op), samples_(std::move(samples)) {
  library_samples.add(*this);
}

OpSamples::~OpSamples() { library_samples.remove(*this); }

std::vector<const Op*> registered_ops(Origin origin) {
  std::vector<const Op*> ops = registry(origin).all();
  std::sort(ops.begin(), ops.end(), [](const Op* a, const Op* b) { return std::strcmp(a->name(), b->name()) < 0; });
  return ops;
}

Tensor sample_normal(const Shape& shape, uint64_t seed) {
  Generator stream(seed);
  return randn(shape, f64, stream);
}

Tensor sample_uniform(const Shape& shape, double low, double high, uint64_t seed) {
  Generator stream(seed);
  std::vector<double> values = rand(shape, {f64, cpu}, stream).to_vector<double>();
  for (double& value : values) value = low + (high - low) * value;
  return from_vector(values, shape);
}

Tensor sample_distinct(const Shape& shape, uint64_t seed) {
  Generator stream(seed);
  const std::vector<int64_t> order = randperm(shape.numel(), stream).to_vector<int64_t>();
  std::vector<double> values;
  // Centered on an odd multiple of half a step, so that no value is zero.
  const int64_t middle = shape.numel() / 2;
  for (const int64_t place : order) values.push_back(0.25 * (static_cast<double>(place - middle) + 0.5));
  return from_vector(values, shape);
}

}  // namespace tape
