#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formula.h"
#include "tape.h"

namespace tape {

/// A call of an operation that the gradient check tries: f64 inputs, all differentiable, and a function of them.
struct OpSample {
  std::string label;
  Tensors inputs;
  std::function<Tensor(const Tensors&)> call;
  double step = 0;             ///< of the central differences; 0 is the check's own choice
  bool zero_gradient = false;  ///< by nature: the inputs are given a gradient of zero, and that is right
};

/// Where the axes of an operation's output come from, those of its inputs counted from the back where nothing else is
/// said.
enum class AxesFrom {
  same_place,   ///< each from where it stands, if it is as long as there
  lookup,       ///< rows of a table, behind the axes of the indices that choose them
  product,      ///< rows of the first, columns of the second: attributes transpose_a, transpose_b
  permutation,  ///< attribute axes
  reshape,      ///< those that are neither split nor joined
  slice         ///< each from where it stands, one of them a stretch: attributes axis, start, step
};

/// What others have to know of an operation, where they would have to ask for it by name otherwise.
struct OpTraits {
  bool view = false;       ///< output i shows the values of input i and is kept by nobody on its own: a ledger looks
                           ///< through it
  bool random = false;     ///< may draw random numbers, from the stream that it is given or the current one
  bool has_kinks = false;  ///< has points without a derivative, which its samples stay away from
  bool produces_neg_inf = false;  ///< puts -inf in on purpose: no anomaly
  bool is_relu_like = false;      ///< gives 0 for all values below 0: a unit may never give anything else
  bool normalizes = false;        ///< gives weights, which sum to 1 along an axis
  AxesFrom axes = AxesFrom::same_place;
};

/// A recorded call whose gradient of one input is asked for each sample; see per_sample_gradients().
struct PerSampleCall {
  const Node& node;
  const Tensors& inputs;   ///< of the call
  const Tensor& gradient;  ///< of its first output
  size_t input;            ///< whose gradient: a tensor that all samples share
  int64_t axis;            ///< of the first output: the samples lie along it, block by block
  int64_t samples;
};
/// [B, ... of the input], or undefined where this input has no such rule.
using PerSampleRule = Tensor (*)(const PerSampleCall& call);

/// The output of a recorded call once more, with the same bits, from what the call saved; see Rematerialize.
using RecomputeRule = Tensor (*)(const Tensors& saved, const Attributes& attributes);

/// All that an operation is, beside the function that calls it: one aggregate in the file of its family.
///
///   const Op exp_op({.name = "exp",
///                    .formula = {.forward = "y{y} = exp x", .backward = {"dx = dy ⊙ y"}}});
struct OpDefinition {
  const char* name;  ///< on the tape, in messages and pictures; of static storage
  OpFormula formula = {};
  OpTraits traits = {};
  /// Of an operation of a program; called when the registry is checked, not at start-up. Those of the library's own are
  /// OpSamples.
  std::function<std::vector<OpSample>()> samples = {};
  PerSampleRule per_sample = nullptr;  ///< of the gradient by sample where summing last is faster than asking for each
  RecomputeRule recompute = nullptr;   ///< where that costs little more than reading the output
};

template <class T>
class StaticList;

/// Whose an operation or a layer is: the library's, or that of the program that uses it. What is made while a program
/// runs is in no registry.
enum class Origin { library, program, run_time };

/// An operation. The library's are in a registry, and those of a program that have samples in another, which test
/// suites walk: each needs samples whose gradients are right, and the library's a formula.
class Op : NonCopyable {
 public:
  explicit Op(OpDefinition definition, Origin origin = Origin::library);
  ~Op();

  const char* name() const { return definition_.name; }
  const OpFormula& formula() const { return definition_.formula; }
  const OpTraits& traits() const { return definition_.traits; }
  PerSampleRule per_sample() const { return definition_.per_sample; }
  RecomputeRule recompute() const { return definition_.recompute; }
  /// Its own, or what an OpSamples has for its name.
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

/// The samples of an operation of the library, by its name, as long as this lives: what checks the library brings them
/// along.
class OpSamples : NonCopyable {
 public:
  using Samples = std::function<std::vector<OpSample>()>;
  OpSamples(const char* op, Samples samples);
  ~OpSamples();

  const char* op() const { return op_; }
  std::vector<OpSample> samples() const { return samples_(); }

 private:
  friend class StaticList<OpSamples>;

  const char* op_;
  const Samples samples_;
  mutable const OpSamples* next_registered_ = nullptr;
};

/// Every registered operation of the library, or of the program, ordered by name.
std::vector<const Op*> registered_ops(Origin origin = Origin::library);

/// Values for samples: f64, normal, from a generator of their own so that each call gives the same.
Tensor sample_normal(const Shape& shape, uint64_t seed = 1);
/// f64, uniform in [low, high).
Tensor sample_uniform(const Shape& shape, double low, double high, uint64_t seed = 1);
/// f64, distinct values at least 0.1 apart in random order: for max, sort and kinks.
Tensor sample_distinct(const Shape& shape, uint64_t seed = 1);

}  // namespace tape
