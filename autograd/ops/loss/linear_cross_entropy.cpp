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
constexpr int64_t kBlockRows = 512, kBlockBytes = int64_t{16} << 20;

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
  T *x, *weight, *bias;

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
    return {{empty({}, in[0].options())}, made};
  }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    const NoGrad no_grad;
    const HideObservers unobserved;
    const int64_t all = counted.target.numel();
    const KernelCall& at = c.at();
    Tensor x = c.input(0), losses = empty({all}, x.options()), total = empty({}, x.options()), dx;
    GradientOutputs<T> made{c.kept(0), c.kept(1), c.kept(2)};
    if (counted.positions.defined()) {
      x = index_select(reshape(x, {target.numel(), in_features}), 0, counted.positions);
      if (made.x) dx = empty_like(x), made.x = at.template out<T>(dx);
    }
    run_blocks(c, at.template in<T>(x), at.template out<T>(losses), made);
    kernels::reduce(c).sum(1, all, 1, at.template in<T>(losses), at.template out<T>(total));
    kernels::elementwise(c).scale_by(1, at.template in<T>(total), at.template in<T>(scale), c.out());
    if (dx.defined())
      kernels::index(c).add_at(1, target.numel(), in_features, c.kept(0), all,
                               at.template in<int64_t>(counted.positions), at.template in<T>(dx));
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    const int64_t sizes[] = {target.numel() * in_features, classes * in_features, classes};
    for (size_t i = 0; i < std::size(sizes); ++i)
      if (T* const to = c.din(i)) kernels::elementwise(c).scale_by(sizes[i], c.kept(i), c.dout(), to);
  }
  Tensor reference(Inputs in) const {
    CrossEntropyOptions o = options;
    o.weight = in[3];
    return cross_entropy(linear(in[0], in[1], in[2]), target, o);
  }

 private:
  /// For each block computes z = x weight^T + bias and the losses, and replaces z by dz = scale dloss / dz.
  template <class T>
  void run_blocks(const ForwardCall<T>& c, const T* x, T* losses, const GradientOutputs<T>& made) const {
    const int64_t all = counted.target.numel(), rows = std::min(block, all);
    const auto& kernel = kernels::loss(c);
    const KernelCall& at = c.at();
    const TensorOptions like = c.input(0).options();
    Tensor logits = empty({rows, classes}, like), lse = empty({rows}, like);
    const Tensor scales = expand_to(scale, {rows});
    for (int64_t begin = 0; begin < all; begin += rows) {
      const int64_t count = std::min(rows, all - begin);
      const int64_t* const of = at.template in<int64_t>(counted.target) + begin;
      T* const z = at.template out<T>(logits);
      kernels::Gemm product = kernels::linear_gemm(count, classes, in_features, MatmulPrecisionScope::current());
      const Ref<Storage> held = read_packed(c.input(1), product);
      kernels::products(c).gemm(product, x + begin * in_features, c.in(1), z, c.in(2));
      kernel.cross_entropy(count, classes, z, of, c.in(3), options.ignore_index, options.label_smoothing,
                           losses + begin, at.template out<T>(lse));
      if (!made.wanted()) continue;
      kernel.cross_entropy_backward(count, classes, z, of, c.in(3), options.ignore_index, options.label_smoothing,
                                    at.template in<T>(lse), at.template in<T>(scales), z);
      add_gradients(c, logits, x, begin, count, made);
    }
  }

  /// For the block of `count` rows starting at `begin`, given dz [count, V]: writes dx = dz weight and accumulates
  /// dweight = dz^T x and dbias, the row sum of dz, which the weight product computes along the way.
  template <class T>
  void add_gradients(const ForwardCall<T>& c, const Tensor& dz, const T* x, int64_t begin, int64_t count,
                     const GradientOutputs<T>& made) const {
    const MatmulPrecision precision = MatmulPrecisionScope::current();
    const T* const from = c.at().template in<T>(dz);
    if (made.x) {
      const kernels::Gemm product{.m = count,
                                  .n = in_features,
                                  .k = classes,
                                  .lda = classes,
                                  .ldb = in_features,
                                  .ldc = in_features,
                                  .precision = precision};
      kernels::products(c).gemm(product, from, c.in(1), made.x + begin * in_features, nullptr);
    }
    Tensor row_sum;
    if (made.bias) row_sum = empty({classes}, dz.options());
    if (made.weight) {
      kernels::Gemm product = kernels::linear_weight_gemm(count, classes, in_features, precision);
      product.accumulate = begin > 0;
      product.row_sums_a = c.at().template out<T>(row_sum);
      kernels::products(c).gemm(product, from, x + begin * in_features, made.weight, nullptr);
    }
    if (!made.bias) return;
    if (!made.weight) kernels::reduce(c).sum(1, count, classes, from, c.at().template out<T>(row_sum));
    kernels::elementwise(c).accumulate(classes, c.at().template in<T>(row_sum), 1, made.bias);
  }
};

/// Rows per block, evenly split: about kBlockRows, or more if their logits take less than kBlockBytes.
int64_t chosen_rows(int64_t rows, int64_t classes, DType dtype) {
  const int64_t most = std::max(kBlockRows, kBlockBytes / std::max<int64_t>(1, classes * size_of(dtype)));
  const int64_t blocks = std::max<int64_t>(1, (rows + most / 2) / most);
  return (rows + blocks - 1) / blocks;
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& given_x, const Tensor& weight, const Tensor& bias, const Tensor& given,
                            const CrossEntropyOptions& options, int64_t rows) {
  constexpr const char* kName = "linear_cross_entropy";
  if (rows < 0) raise(ErrorKind::config, "{}: rows must not be negative, got {}", kName, rows);
  const Tensor x = loss_operand(as_activation(given_x, weight));
  check_floating(kName, x);
  check_linear(kName, x, weight, bias);
  check_label_smoothing(kName, options.label_smoothing);
  const Shape scores = x.shape().with(x.rank() - 1, weight.size(0));
  const Tensor class_weight = options.weight.defined() ? options.weight.detach() : Tensor();
  const Tensor target = checked_targets(kName, scores, x.dtype(), given, class_weight, options.ignore_index);
  const bool chooses = rows == 0;
  if (chooses) rows = chosen_rows(target.numel(), weight.size(0), compute_dtype(x.dtype()));
  if ((chooses && rows >= target.numel()) || options.reduction == Reduction::none)
    return cross_entropy(linear(x, weight, bias), target, options);
  for (const int64_t size : {target.numel(), weight.size(0), weight.size(1)}) check_product_size(kName, size);
  const bool mean = options.reduction == Reduction::mean;
  const Tensor scale = mean ? mean_scale(target_weight(target, class_weight, options.ignore_index, x.dtype()))
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
