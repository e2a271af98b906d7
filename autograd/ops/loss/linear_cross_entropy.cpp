#include "autograd/ops/loss/linear_cross_entropy.h"

#include <algorithm>
#include <iterator>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/index/index.h"
#include "autograd/kernels/loss/loss.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/activation_dtype.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/class_targets.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

// Each block reads the weight twice and adds to its gradient once. Relative to a single block, forward and backward of
// 2,048 x 768 x 50,257 take 1.02 times as long in blocks of 512 rows, 1.09 in blocks of 256, 1.24 in blocks of 128 (an
// Intel Xeon with AVX-512, two threads).
constexpr int64_t kBlockRows = 512;

const Op linear_cross_entropy_op(
    {.name = "linear_cross_entropy",
     .formula = {
         .forward = "y{y} = Σₜ <3:w[target] (>logsumexp(zₜ) − z[t, target]<3:)><label_smoothing:, smoothed by "
                    "{label_smoothing}>, "
                    "z = x{0} · weightᵀ{1}<2: + bias{2}>, over rows not ignored<mean:, divided by <3:the sum of their "
                    "w|their number>><3:, w{3} the class weights>",
         .backward = {"dx{x} = dz · weight{1}, dz = dy <mean:/ <3:Σ w|rows> · ><3:w[target] >(softmax(z) − "
                      "onehot(target)), computed "
                      "in the forward pass",
                      "dweight{x} = dzᵀ · x, computed in the forward pass", "dbias{x} = Σ rows of dz",
                      "dw{x} = 0, class weights are constants"}}});

/// Targets that are not ignored and their row positions; positions are undefined if none is ignored.
struct UnignoredRows {
  Tensor target, positions;
};

/// All rows where the number of those to be computed would have to be waited for.
UnignoredRows unignored_rows(const Tensor& target, int64_t ignore_index) {
  const Tensor flat = reshape(target, {-1});
  if (reading_waits(target.device())) return {flat, {}};
  const Tensor positions = reshape(nonzero(ne(flat, ignore_index)), {-1});
  if (positions.numel() == flat.numel()) return {flat, {}};
  return {index_select(flat, 0, positions), positions};
}

/// Gradients to write; null if not needed.
template <class T>
struct GradientOutputs {
  T* x;
  kernels::Sum<T>*weight, *bias;

  bool wanted() const { return x || weight || bias; }
};

/// Computes loss and gradients one block of rows at a time.
struct LinearCrossEntropy {
  Tensor target;
  UnignoredRows counted;
  CrossEntropyOptions options;  ///< without the weight, which is input 3
  Tensor scale;                 ///< of the sum of all losses; scalar
  int64_t block, classes, in_features;
  static constexpr bool reuses_kept = true;

  std::array<Tensor, 2> constants() const { return {target, scale}; }
  /// Kept: the needed gradients, for an output gradient of 1.
  Results<1, 3> results(Inputs in) const {
    std::array<Tensor, 3> made;
    for (size_t i = 0; i < made.size(); ++i) {
      if (!needs_record(in.subspan(i, 1))) continue;
      const bool adds = i == 2 || (i == 0 && counted.positions.defined()) || counted.target.numel() == 0;
      made[i] = adds ? zeros_like(in[i]) : empty_like(in[i]);
    }
    return {{empty({}, {compute_dtype(in[0].dtype()), in[0].device()})}, made};
  }
  bool computes_bf16(const kernels::Target& at, Inputs) const { return reads_bf16_logits(at.device); }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    const NoGrad no_grad;
    const HideObservers unobserved;
    const int64_t all = counted.target.numel();
    const KernelCall& at = c.at();
    const TensorOptions sums(dtype_of<S>, c.input(0).device());
    Tensor x = c.input(0), losses = empty({all}, sums), total = empty({}, sums), dx;
    GradientOutputs<T> made{c.kept(0), c.template kept_as<S>(1), c.template kept_as<S>(2)};
    if (counted.positions.defined()) {
      x = index_select(reshape(x, {target.numel(), in_features}), 0, counted.positions);
      if (made.x) dx = empty_like(x), made.x = at.template out<T>(dx);
    }
    run_blocks(c, at.template in<T>(x), at.template out<S>(losses), made);
    kernels::reduce<S>(c).sum(1, all, 1, at.template in<S>(losses), at.template out<S>(total));
    kernels::elementwise<S>(c).scale_by(1, at.template in<S>(total), at.template in<S>(scale), c.template out_as<S>());
    if constexpr (std::is_floating_point_v<T>)  // unignored_rows() counts them on the CPU only
      if (dx.defined())
        kernels::index(c).add_at(1, target.numel(), in_features, c.kept(0), all,
                                 at.template in<int64_t>(counted.positions), at.template in<T>(dx));
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    const S* const dy = c.template dout_as<S>();
    const int64_t rows = target.numel() * in_features;
    if (T* const dx = c.din(0)) kernels::elementwise(c).scale_by(rows, c.kept(0), dy, dx);
    const auto scale_parameter = [&](size_t i, int64_t size) {
      if (S* const to = c.dparameter(i)) kernels::elementwise<S>(c).scale_by(size, c.template kept_as<S>(i), dy, to);
    };
    scale_parameter(1, classes * in_features);
    scale_parameter(2, classes);
  }
  Tensor reference(Inputs in) const {
    CrossEntropyOptions o = options;
    o.weight = in[3];
    return cross_entropy(linear(in[0], in[1], in[2]), target, o);
  }

 private:
  /// For each block computes z = x weight^T + bias and the losses, and replaces z by dz = scale dloss / dz.
  template <class T>
  void run_blocks(const ForwardCall<T>& c, const T* x, kernels::Sum<T>* losses, const GradientOutputs<T>& made) const {
    using S = kernels::Sum<T>;
    const int64_t all = counted.target.numel(), rows = std::min(block, all);
    const auto& kernel = kernels::loss(c);
    const KernelCall& at = c.at();
    const TensorOptions like = c.input(0).options();
    Tensor logits = empty({rows, classes}, like), lse = empty({rows}, {dtype_of<S>, like.device});
    const Tensor weight = weight_beside(c.input(0), c.input(1)), bias = weight_beside(c.input(0), c.input(2));
    const Tensor scales = expand_to(scale, {rows});
    for (int64_t begin = 0; begin < all; begin += rows) {
      const int64_t count = std::min(rows, all - begin);
      const int64_t* const of = at.template in<int64_t>(counted.target) + begin;
      T* const z = at.template out<T>(logits);
      kernels::Gemm product = kernels::linear_gemm(count, classes, in_features, MatmulPrecisionScope::current());
      const Ref<Storage> held = read_packed(c.input(1), product);
      kernels::products(c).gemm(product, x + begin * in_features, at.template in<T>(weight), z,
                                at.template in<T>(bias));
      kernel.cross_entropy(count, classes, z, of, c.parameter(3), options.ignore_index, options.label_smoothing,
                           losses + begin, at.template out<S>(lse));
      if (!made.wanted()) continue;
      kernel.cross_entropy_backward(count, classes, z, of, c.parameter(3), options.ignore_index,
                                    options.label_smoothing, at.template in<S>(lse), at.template in<S>(scales), z);
      add_gradients(c, logits, weight, x, begin, count, made);
    }
  }

  /// For the block of `count` rows starting at `begin`, given dz [count, V]: writes dx = dz weight and accumulates
  /// dweight = dz^T x and dbias, the row sum of dz, which the weight product computes along the way.
  template <class T>
  void add_gradients(const ForwardCall<T>& c, const Tensor& dz, const Tensor& weight, const T* x, int64_t begin,
                     int64_t count, const GradientOutputs<T>& made) const {
    using S = kernels::Sum<T>;
    const MatmulPrecision precision = MatmulPrecisionScope::current();
    const T* const from = c.at().template in<T>(dz);
    if (made.x) {
      const kernels::Gemm product = kernels::linear_input_gemm(count, classes, in_features, precision);
      kernels::products(c).gemm(product, from, c.at().template in<T>(weight), made.x + begin * in_features, nullptr);
    }
    Tensor row_sum;
    if (made.bias) row_sum = empty({classes}, {dtype_of<S>, dz.device()});
    if (made.weight) {
      kernels::Gemm product = kernels::linear_weight_gemm(count, classes, in_features, precision);
      product.accumulate = begin > 0;
      product.row_sums_a = c.at().template out<S>(row_sum);
      kernels::gemm_to_sums<T>(c, product, from, x + begin * in_features, made.weight);
    }
    if (!made.bias) return;
    if (!made.weight) sum_rows(c, dz, count, row_sum);
    kernels::elementwise<S>(c).accumulate(classes, c.at().template in<S>(row_sum), 1, made.bias);
  }

  /// sums [classes] of the first `count` rows of dz.
  template <class T>
  static void sum_rows(const ForwardCall<T>& c, const Tensor& dz, int64_t count, Tensor& sums) {
    using S = kernels::Sum<T>;
    const Tensor wide = cast(dz, dtype_of<S>);
    kernels::reduce<S>(c).sum(1, count, dz.size(1), c.at().template in<S>(wide), c.at().template out<S>(sums));
  }
};

/// Rows per block, evenly split: about kBlockRows, or more if their logits take less than kernels::logit_bytes().
int64_t chosen_rows(int64_t rows, int64_t classes, const TensorOptions& logits) {
  const int64_t bytes = kernels::logit_bytes(kernels::Target{logits.device});
  const int64_t most = std::max(kBlockRows, bytes / std::max<int64_t>(1, classes * size_of(logits.dtype)));
  const int64_t blocks = std::max<int64_t>(1, (rows + most / 2) / most);
  return (rows + blocks - 1) / blocks;
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& given_x, const Tensor& weight, const Tensor& bias, const Tensor& given,
                            const CrossEntropyOptions& options, int64_t rows) {
  constexpr const char* kName = "linear_cross_entropy";
  if (rows < 0) raise(ErrorKind::config, "{}: rows must not be negative, got {}", kName, rows);
  const Tensor activation = as_activation(given_x, weight);
  const bool as_is = reads_bf16_logits(activation.device());
  const Tensor x = as_is ? activation : loss_operand(activation);
  const DType weights = as_is ? compute_dtype(x.dtype()) : x.dtype();  // of the classes
  check_floating(kName, x);
  check_linear(kName, x, weight, bias);
  check_label_smoothing(kName, options.label_smoothing);
  const Shape scores = x.shape().with(x.rank() - 1, weight.size(0));
  const Tensor class_weight = options.weight.defined() ? options.weight.detach() : Tensor();
  const Tensor target = checked_targets(kName, scores, weights, given, class_weight, options.ignore_index);
  const bool chooses = rows == 0;
  if (chooses) rows = chosen_rows(target.numel(), weight.size(0), {as_is ? x.dtype() : weights, x.device()});
  if ((chooses && rows >= target.numel()) || options.reduction == Reduction::none)
    return cross_entropy(linear(x, weight, bias), target, options);
  for (const int64_t size : {target.numel(), weight.size(0), weight.size(1)}) check_product_size(kName, size);
  const bool mean = options.reduction == Reduction::mean;
  const Tensor scale = mean ? mean_scale(target, class_weight, options.ignore_index, weights)
                            : scalar(1, {compute_dtype(x.dtype()), x.device()});
  const LinearCrossEntropy call{.target = target,
                                .counted = unignored_rows(target, options.ignore_index),
                                .options = {.ignore_index = options.ignore_index,
                                            .label_smoothing = options.label_smoothing,
                                            .reduction = options.reduction},
                                .scale = scale,
                                .block = rows,
                                .classes = weight.size(0),
                                .in_features = weight.size(1)};
  return fused(linear_cross_entropy_op, {x, weight, bias, class_weight}, call,
               {{"ignore_index", options.ignore_index}, {"label_smoothing", options.label_smoothing}, {"mean", mean}});
}

}  // namespace tape
