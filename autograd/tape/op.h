#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formula.h"
#include "tape.h"

namespace tape {

/// A call of an operation for the gradient check: differentiable f64 inputs, and a function of them.
struct OpSample {
  std::string label;                           ///< as in "a row"
  Tensors inputs;                              ///< f64; the gradients with respect to all of them are checked
  std::function<Tensor(const Tensors&)> call;  ///< calls the operation on such inputs
  double step = 0;                             ///< step of the central differences; 0 lets the check choose
  bool zero_gradient = false;  ///< the gradient is zero by definition, and the inputs must receive that zero
};

/// Which input axes an operation's output axes come from. Input axes are counted from the back unless noted.
enum class AxesFrom {
  same_axis,    ///< from the same axis, if its size is the same
  lookup,       ///< the axes of the indices, followed by those of a table row
  product,      ///< rows of the first, columns of the second; attributes transpose_a, transpose_b
  permutation,  ///< attribute axes
  reshape,      ///< the axes that are neither split nor joined
  slice         ///< the same axes, one of them a range: attributes axis, start, step
};

/// Properties of an operation that other code needs, so that it need not compare names.
struct OpTraits {
  bool view = false;                    ///< output i aliases the storage of input i
  bool random = false;                  ///< may draw random values, from a given generator or the current stream
  bool has_kinks = false;               ///< has points without a derivative, which its samples avoid
  bool produces_neg_inf = false;        ///< produces -inf on purpose, which is no anomaly
  bool is_relu_like = false;            ///< returns 0 for all values below 0, so that a unit may die
  bool normalizes = false;              ///< returns weights that sum to 1 along an axis
  AxesFrom axes = AxesFrom::same_axis;  ///< where the output's axes come from
};

/// A recorded call and the input whose gradient is needed per sample; see per_sample_gradients().
struct PerSampleCall {
  const Node& node;        ///< the recorded call
  const Tensors& inputs;   ///< inputs of the call
  const Tensor& gradient;  ///< gradient of its first output
  size_t input;            ///< index of an input that all samples share
  int64_t axis;            ///< axis of the first output that holds the samples, one block each
  int64_t samples;         ///< number of samples, B
};
/// Returns the gradients [B, ... of the input], or undefined if the rule does not support this input.
using PerSampleRule = Tensor (*)(const PerSampleCall& call);

/// Recomputes the output of a recorded call, bit for bit, from what the call saved; see Rematerialize.
using RecomputeRule = Tensor (*)(const Tensors& saved, const Attributes& attributes);

/// Everything about an operation except the function that calls it: one aggregate in its source file.
///
///   const Op exp_op({.name = "exp",
///                    .formula = {.forward = "y{y} = exp x", .backward = {"dx = dy ⊙ y"}}});
struct OpDefinition {
  const char* name;        ///< on the tape, in messages and in graph drawings; has static storage
  OpFormula formula = {};  ///< shown by reports and drawings; may be empty
  OpTraits traits = {};    ///< properties that other code relies on
  /// Samples of a user's operation; called when the registry is checked, not at start-up. The library's operations use
  /// OpSamples.
  std::function<std::vector<OpSample>()> samples = {};
  PerSampleRule per_sample = nullptr;  ///< set where per-sample gradients can be computed for the whole batch at once
  RecomputeRule recompute = nullptr;   ///< set where recomputing costs little more than reading the output
};

template <class T>
class StaticList;

/// Whether an operation or a layer belongs to the library or to the program that uses it. Those created at run time are
/// in no registry.
enum class Origin { library, program, run_time };

/// An operation. The library's operations are in one registry, and a program's operations with samples in another. Test
/// suites iterate over both: each needs samples with correct gradients, and the library's also a formula.
class Op : NonCopyable {
 public:
  /// Adds the operation to the registry of its origin, if any (a program's only with samples), until it is destroyed.
  explicit Op(OpDefinition definition, Origin origin = Origin::library);
  ~Op();

  /// As in its OpDefinition.
  /// @{
  const char* name() const { return definition_.name; }
  const OpFormula& formula() const { return definition_.formula; }
  const OpTraits& traits() const { return definition_.traits; }
  PerSampleRule per_sample() const { return definition_.per_sample; }
  RecomputeRule recompute() const { return definition_.recompute; }
  /// @}
  /// The operation's own samples, or those of an OpSamples with its name.
  std::vector<OpSample> samples() const;

 private:
  bool is_registered() const {
    return origin_ == Origin::library || (origin_ == Origin::program && definition_.samples);
  }
  friend class StaticList<Op>;

  const OpDefinition definition_;
  const Origin origin_;
  mutable const Op* next_registered_ = nullptr;
};

/// Provides the samples of a library operation, by name, while this object lives; code that checks the library defines
/// them.
class OpSamples : NonCopyable {
 public:
  /// Makes the samples.
  using Samples = std::function<std::vector<OpSample>()>;
  /// `op` is the operation's name and must have static storage; `samples` is called when they are needed.
  OpSamples(const char* op, Samples samples);
  ~OpSamples();

  const char* op() const { return op_; }  ///< name of the operation
  /// Makes the samples.
  std::vector<OpSample> samples() const { return samples_(); }

 private:
  friend class StaticList<OpSamples>;

  const char* op_;
  const Samples samples_;
  mutable const OpSamples* next_registered_ = nullptr;
};

/// Every registered operation of the library or of the program, ordered by name.
std::vector<const Op*> registered_ops(Origin origin = Origin::library);

/// Sample values: f64, standard normal, from a separate generator so that every call returns the same.
Tensor sample_normal(const Shape& shape, uint64_t seed = 1);
/// Sample values: f64, uniform in [low, high).
Tensor sample_uniform(const Shape& shape, double low, double high, uint64_t seed = 1);
/// Sample values: f64, at least 0.1 apart in random order, for max, sort and kinks.
Tensor sample_distinct(const Shape& shape, uint64_t seed = 1);

}  // namespace tape
