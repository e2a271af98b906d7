#include "autograd/ops/loss/linear_cross_entropy.h"

#include <algorithm>
#include <vector>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/loss/loss.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/ops/check.h"
#include "autograd/ops/data_or_null.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/class_targets.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

// Each block reads the weight twice and adds to its gradient once. Beside one block, forward and backward of 2,048 x
// 768 x 50,257 take 1.02 times as long in blocks of 512 rows, 1.09 in blocks of 256, 1.24 in blocks of 128 (an Intel
// Xeon with AVX-512, two threads).
constexpr int64_t kBlockRows = 512, kBlockBytes = int64_t{16} << 20;

std::vector<OpSample> linear_cross_entropy_samples() {
  const Tensor target = tensor({{1, 0, 4}, {2, 2, 3}}, i64);
  const Tensor x = sample_normal({2, 3, 4}, 1), weight = sample_normal({5, 4}, 2), bias = sample_normal({5}, 3);
  const auto with = [=](const char* label, const CrossEntropyOptions& options, bool has_bias = true) {
    return OpSample{label, has_bias ? Tensors{x, weight, bias} : Tensors{x, weight}, [=](const Tensors& in) {
                      return linear_cross_entropy(in[0], in[1], has_bias ? in[2] : Tensor(), target, options, 2);
                    }};
  };
  return std::vector{with("mean", {}), with("sum without bias", {.reduction = Reduction::sum}, false),
                     with("ignored", {.ignore_index = 2}),
                     with("smoothed", {.ignore_index = 0, .label_smoothing = 0.1}),
                     with("weighted", {.ignore_index = 2, .weight = sample_uniform({5}, 0.5, 2)})};
}

const Op linear_cross_entropy_op(
    {.name = "linear_cross_entropy",
     .formula =
         {.forward = "y{y} = Σₜ logsumexp(zₜ) − z[t, target]<label_smoothing:, smoothed by {label_smoothing}>, "
                     "z = x{0} · weightᵀ{1}<2: + bias{2}>, over the rows that count, times {scale}",
          .backward = {"dx{x} = dz · weight{1}, dz = dy {scale} (softmax(z) − onehot(target)), made with the loss",
                       "dweight{x} = dzᵀ · x, made with the loss", "dbias{x} = Σ rows of dz"}},
     .samples = linear_cross_entropy_samples});

Tensor composed(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target,
                const CrossEntropyOptions& o) {
  return cross_entropy(linear(x, weight, bias), target, o);
}

/// The rows whose target counts, and where they stand among all, if not all of them count.
struct CountedRows {
  Tensor x, target, places;
};

CountedRows counted_rows(const Tensor& x, const Tensor& target, int64_t ignore_index) {
  const Tensor all = reshape(x, {target.numel(), x.size(-1)}), flat = reshape(target, {-1});
  const int64_t* values = flat.data<int64_t>();
  std::vector<int64_t> places;
  for (int64_t i = 0; i < flat.numel(); ++i)
    if (values[i] != ignore_index) places.push_back(i);
  if (std::ssize(places) == flat.numel()) return {all, flat, {}};
  const Tensor chosen = from_vector(places, {std::ssize(places)});
  return {index_select(all, 0, chosen), index_select(flat, 0, chosen), chosen};
}

/// The sum of the losses times a scale, and its gradients, undefined where they are not wanted.
struct LossAndGradients {
  Tensor loss, dx, dweight, dbias;

  bool wants_gradients() const { return dx.defined() || dweight.defined() || dbias.defined(); }
};

/// Of a block of `count` rows from `begin` on, whose dz [count, V] is given: dx = dz weight, and added up
/// dweight = dz^T x, dbias = the sum of dz's rows, which the product with x takes while it has dz at hand.
template <class T>
void add_gradients(const Tensor& dz, const CountedRows& counted, int64_t begin, int64_t count, const Tensor& weight,
                   LossAndGradients& made) {
  const int64_t classes = weight.size(0), in = weight.size(1);
  const MatmulPrecision precision = MatmulPrecisionScope::current();
  if (made.dx.defined()) {
    const kernels::Gemm product{
        .m = count, .n = in, .k = classes, .lda = classes, .ldb = in, .ldc = in, .precision = precision};
    kernels::gemm(product, dz.data<T>(), weight.data<T>(), made.dx.mutable_data<T>() + begin * in);
  }
  Tensor row_sum;
  if (made.dbias.defined() && made.dweight.defined()) row_sum = empty_like(made.dbias);
  if (made.dweight.defined()) {
    const kernels::Gemm product{.transpose_a = true,
                                .m = classes,
                                .n = in,
                                .k = count,
                                .lda = classes,
                                .ldb = in,
                                .ldc = in,
                                .accumulate = begin > 0,
                                .precision = precision,
                                .left_sums = mutable_data_or_null<T>(row_sum)};
    kernels::gemm(product, dz.data<T>(), counted.x.data<T>() + begin * in, made.dweight.mutable_data<T>());
  }
  if (!made.dbias.defined()) return;
  if (!row_sum.defined()) row_sum = sum(slice(dz, 0, {.end = count}), 0);
  kernels::elementwise<T>().accumulate(classes, row_sum.data<T>(), T{1}, made.dbias.mutable_data<T>());
}

/// Block by block z = x weight^T + bias, the losses, and in z's place dz = scale dloss / dz.
template <class T>
void run_blocks(const CountedRows& counted, const Tensor& weight, const Tensor& bias, const CrossEntropyOptions& o,
                double scale, int64_t rows, Tensor& losses, LossAndGradients& made) {
  const int64_t all = counted.target.numel(), classes = weight.size(0), in = weight.size(1);
  rows = std::min(rows, all);
  Tensor logits = empty({rows, classes}, weight.dtype()), lse = empty({rows}, weight.dtype());
  const Tensor scales = full({rows}, scale, weight.dtype());
  for (int64_t begin = 0; begin < all; begin += rows) {
    const int64_t count = std::min(rows, all - begin);
    const int64_t* const target = counted.target.data<int64_t>() + begin;
    T* const z = logits.mutable_data<T>();
    kernels::Gemm product{.transpose_b = true,
                          .m = count,
                          .n = classes,
                          .k = in,
                          .lda = in,
                          .ldb = in,
                          .ldc = classes,
                          .precision = MatmulPrecisionScope::current()};
    const Ref<Storage> held = read_packed(weight, product);
    kernels::gemm(product, counted.x.data<T>() + begin * in, weight.data<T>(), z, data_or_null<T>(bias));
    kernels::loss<T>().cross_entropy(count, classes, z, target, data_or_null<T>(o.weight), o.ignore_index,
                                     o.label_smoothing, losses.mutable_data<T>() + begin, lse.mutable_data<T>());
    if (!made.wants_gradients()) continue;
    kernels::loss<T>().cross_entropy_backward(count, classes, z, target, data_or_null<T>(o.weight), o.ignore_index,
                                              o.label_smoothing, lse.data<T>(), scales.data<T>(), z);
    add_gradients<T>(logits, counted, begin, count, weight, made);
  }
}

LossAndGradients loss_and_gradients(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target,
                                    const CrossEntropyOptions& o, double scale, int64_t rows) {
  const bool of_x = needs_record({x}), of_weight = needs_record({weight}), of_bias = needs_record({bias});
  const NoGrad no_grad;
  const Unobserved unobserved;
  const CountedRows counted = counted_rows(x, target, o.ignore_index);
  LossAndGradients made;
  if (of_x) made.dx = empty(counted.x.shape(), x.dtype());
  if (of_weight) made.dweight = counted.target.numel() > 0 ? empty_like(weight) : zeros(weight.shape(), x.dtype());
  if (of_bias) made.dbias = zeros(bias.shape(), x.dtype());
  Tensor losses = empty(counted.target.shape(), x.dtype());
  dispatch_floating("linear_cross_entropy", x.dtype(), [&](auto zero) {
    run_blocks<decltype(zero)>(counted, weight, bias, o, scale, rows, losses, made);
  });
  made.loss = sum(losses) * scale;
  if (of_x && counted.places.defined())
    made.dx = index_add(zeros({target.numel(), x.size(-1)}, x.dtype()), 0, counted.places, made.dx);
  if (of_x) made.dx = reshape(made.dx, x.shape());
  return made;
}

/// Saved gradient i times dy, in its own memory where nobody will look at it again.
Tensor times_gradient(const BackwardContext& c, size_t i) {
  Tensor product = c.room_of_saved(i);
  const Tensor gradient = c.saved(i), dy = c.grad();
  dispatch_floating("linear_cross_entropy", gradient.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T factor = *dy.data<T>();
    if (factor == 1 && product.raw() == gradient.raw()) return;  // a pass over all of a large weight's
    kernels::elementwise<T>().affine(gradient.numel(), gradient.data<T>(), factor, T{0}, product.mutable_data<T>());
  });
  return product;
}

/// Rows of a block, even ones of about kBlockRows, or more where their logits take less than kBlockBytes.
int64_t chosen_rows(int64_t rows, int64_t classes, DType dtype) {
  const int64_t most = std::max(kBlockRows, kBlockBytes / std::max<int64_t>(1, classes * size_of(dtype)));
  const int64_t blocks = std::max<int64_t>(1, (rows + most / 2) / most);
  return (rows + blocks - 1) / blocks;
}

/// The sum or the mean of the losses, of tensors in a dtype that kernels compute in.
Tensor in_blocks(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target,
                 const CrossEntropyOptions& o, int64_t rows) {
  const double scale =
      o.reduction == Reduction::sum ? 1 : mean_scale(target_weight(target, o.weight, o.ignore_index, x.dtype()));
  const LossAndGradients made = loss_and_gradients(x, weight, bias, target, o, scale, rows);
  return record(linear_cross_entropy_op, {x, weight, bias}, made.loss,
                {x, weight, bias, target, made.dx, made.dweight, made.dbias},
                [o, precision = MatmulPrecisionScope::current()](const BackwardContext& c) -> Tensors {
                  if (c.create_graph()) {
                    const MatmulPrecisionScope as_recorded(precision);
                    const Tensor fixed_target = c.saved(3);
                    return twin_gradients(c, {c.saved(0), c.saved(1), c.saved(2)}, 1, [&](const Tensors& in) {
                      return Tensors{composed(in[0], in[1], in[2], fixed_target, o)};
                    });
                  }
                  Tensors gradients(3);
                  for (size_t i = 0; i < gradients.size(); ++i)
                    if (c.needs(i)) gradients[i] = times_gradient(c, 4 + i);
                  return gradients;
                },
                {{"ignore_index", o.ignore_index}, {"label_smoothing", o.label_smoothing}, {"scale", scale}});
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target,
                            const CrossEntropyOptions& options, int64_t rows) {
  constexpr const char* kName = "linear_cross_entropy";
  if (rows < 0) raise(ErrorKind::config, "{}: rows must not be negative, got {}", kName, rows);
  check_floating(kName, x);
  check_linear(kName, x, weight, bias);
  check_label_smoothing(kName, options.label_smoothing);
  const Shape scores = x.shape().with(x.rank() - 1, weight.size(0));
  CrossEntropyOptions o = options;
  if (o.weight.defined()) o.weight = o.weight.detach();
  check_targets(kName, scores, x.dtype(), target, o.weight, o.ignore_index);
  const bool chooses = rows == 0;
  const DType dtype = computed_in(x.dtype());
  if (chooses) rows = chosen_rows(target.numel(), weight.size(0), dtype);
  if ((chooses && rows >= target.numel()) || Composed::active() || o.reduction == Reduction::none)
    return composed(x, weight, bias, target, o);
  for (const int64_t size : {target.numel(), weight.size(0), weight.size(1)}) check_product_size(kName, size);
  const auto wide = [dtype](const Tensor& given) { return given.defined() ? cast(given, dtype) : given; };
  o.weight = wide(o.weight);
  return cast(in_blocks(wide(x), wide(weight), wide(bias), target, o, rows), x.dtype());
}

}  // namespace tape
