#include "autograd/ops/product/matmul.h"

#include <limits>

#include "autograd/create.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/ops/check.h"
#include "autograd/ops/deferred/product.h"
#include "autograd/ops/elementwise/activation_dtype.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op matmul_op({.name = "matmul",
                    .formula = {.forward = "y{y} = a{0}<transpose_a:ᵀ> · b{1}<transpose_b:ᵀ>",
                                .backward = {"da{x} = <transpose_a:b<transpose_b:ᵀ> · dyᵀ|dy · b<transpose_b:|ᵀ>>",
                                             "db{x} = <transpose_b:dyᵀ · a<transpose_a:ᵀ>|a<transpose_a:|ᵀ> · dy>"},
                                .summed = Summed::batch},
                    .traits = {.axes = AxesFrom::product}});

/// dweight_b = dy_b^T x_b, dbias_b = the sum of the rows of dy_b.
Tensor linear_per_sample(const PerSampleCall& call) {
  if (call.input == 0) return {};
  const auto rows_of_samples = [&](const Tensor& x) {
    return reshape(samples_first(x, call.axis, call.samples), {call.samples, -1, x.size(-1)});
  };
  const Tensor dy = rows_of_samples(call.gradient);
  if (call.input == 2) return sum(dy, 1);
  return matmul(dy, rows_of_samples(call.inputs[0]), {.transpose_a = true});
}

const Op linear_op({.name = "linear",
                    .formula = {.forward = "y{y} = x{0} · weightᵀ{1}<2: + bias{2}>",
                                .backward = {"dx{x} = dy{y} · weight{1}", "dweight{x} = dyᵀ · x, summed over all rows",
                                             "dbias{x} = Σ rows of dy"}},
                    .per_sample = linear_per_sample});

/// op(A) op(B) of tensors with at least two axes.
struct Matmul {
  Matmul(const Tensor& a, const Tensor& b, const MatmulOptions& given);

  MatmulOptions options;
  kernels::Gemm gemm = {};
  Shape batch_a, batch_b, batch;
  int64_t size_a, size_b;  // elements of one matrix

  Results<1> results(Inputs in) const {
    return {{empty(batch.inserted(batch.rank(), gemm.m).inserted(batch.rank() + 1, gemm.n), in[0].options())}};
  }
  bool computes_halves(const kernels::Target& target, Inputs) const { return kernels::has_half_products(target); }
  void forward(const auto& c) const;
  Tensors gradients(const BackwardContext& c) const;
};

Matmul::Matmul(const Tensor& a, const Tensor& b, const MatmulOptions& given) : options(given) {
  const Shape &sa = a.shape(), &sb = b.shape();
  const int64_t ra = sa.rank(), rb = sb.rank();
  gemm.transpose_a = options.transpose_a;
  gemm.transpose_b = options.transpose_b;
  gemm.precision = MatmulPrecisionScope::current();
  gemm.lda = sa[ra - 1];
  gemm.ldb = sb[rb - 1];
  gemm.m = options.transpose_a ? sa[ra - 1] : sa[ra - 2];
  gemm.k = options.transpose_a ? sa[ra - 2] : sa[ra - 1];
  gemm.n = options.transpose_b ? sb[rb - 2] : sb[rb - 1];
  const int64_t inner = options.transpose_b ? sb[rb - 1] : sb[rb - 2];
  if (gemm.k != inner)
    raise(ErrorKind::shape, "matmul: inner sizes differ: a {}{} x b {}{} ({} vs {})", to_string(sa),
          options.transpose_a ? "^T" : "", to_string(sb), options.transpose_b ? "^T" : "", gemm.k, inner);
  batch_a = sa.slice(0, ra - 2);
  batch_b = sb.slice(0, rb - 2);
  batch = broadcast_shapes("matmul", batch_a, batch_b);
  for (int64_t size : {gemm.m, gemm.n, gemm.k}) check_product_size("matmul", size);
  gemm.ldc = gemm.n;
  size_a = sa[ra - 2] * sa[ra - 1];
  size_b = sb[rb - 2] * sb[rb - 1];
}

void Matmul::forward(const auto& c) const {
  if (c.numel() == 0) return;  // there may be any number of empty matrices
  // If only a has leading axes, they are additional rows of one product.
  const bool rows = batch_b.numel() == 1 && !options.transpose_a && batch == batch_a;
  if (rows && batch.numel() * gemm.m <= std::numeric_limits<int32_t>::max()) {
    kernels::Gemm all = gemm;
    all.m *= batch.numel();
    kernels::products(c).gemm(all, c.in(0), c.in(1), c.out(), nullptr);
    return;
  }
  kernels::Broadcast matrices = broadcast_plan(batch, batch_a, batch_b, batch);
  const int64_t sizes[] = {size_a, size_b, gemm.m * gemm.n};
  for (size_t operand = 0; operand < std::size(sizes); ++operand)
    for (int64_t& stride : matrices.strides[operand]) stride *= sizes[operand];
  kernels::products(c).gemm_batched(gemm, matrices, c.in(0), c.in(1), c.out());
}

/// Gradient of A from the gradient of op(A) op(B); if A is transposed, the factors swap.
Tensor left_gradient(const Tensor& dy, const Tensor& b, const MatmulOptions& options) {
  if (options.transpose_a) return matmul(b, dy, {.transpose_a = options.transpose_b, .transpose_b = true});
  return matmul(dy, b, {.transpose_b = !options.transpose_b});
}

Tensor right_gradient(const Tensor& dy, const Tensor& a, const MatmulOptions& options) {
  if (options.transpose_b) return matmul(dy, a, {.transpose_a = true, .transpose_b = options.transpose_a});
  return matmul(a, dy, {.transpose_a = !options.transpose_a});
}

/// Number of rows of [..., C].
int64_t rows_of(const Tensor& x) { return x.shape().slice(0, x.rank() - 1).numel(); }

/// dW = dY^T X with leading axes as rows: one product instead of a sum of one per batch element.
Tensor weight_gradient(const Tensor& dy, const Tensor& x) {
  const int64_t rows = rows_of(x);
  return matmul(reshape(dy, Shape{rows, dy.size(-1)}), reshape(x, Shape{rows, x.size(-1)}), {.transpose_a = true});
}

struct LinearGradients {
  Tensor weight, bias;
};

/// dW = dY^T X and, with a bias, db = the row sum of dY, in one pass over dY; `dtype` is that of dY, or f32 beside
/// bf16. With a `sum`, dW is added to it. Not recorded.
LinearGradients parameter_gradients(const Tensor& dy, const Tensor& x, DType dtype, bool with_bias, const Tensor& sum) {
  const int64_t rows = rows_of(x), out = dy.size(-1), in = x.size(-1);
  const TensorOptions options(dtype, x.device());
  LinearGradients made{sum.defined() ? sum : empty({out, in}, options), with_bias ? empty({out}, options) : Tensor()};
  run_kernels("linear", x.device(), [&](const KernelCall& at) {
    detail::dispatch_values<Matmul>("linear", x.dtype(), [&]<class T>(T) {
      using S = kernels::Sum<T>;
      kernels::Gemm gemm = kernels::linear_weight_gemm(rows, out, in, MatmulPrecisionScope::current());
      gemm.accumulate = sum.defined();
      if (dtype == x.dtype()) {
        gemm.row_sums_a = at.out<T>(made.bias);
        kernels::products<T>(at).gemm(gemm, at.in<T>(dy), at.in<T>(x), at.out<T>(made.weight), nullptr);
      } else {
        gemm.row_sums_a = at.out<S>(made.bias);
        kernels::gemm_to_sums<T>(at, gemm, at.in<T>(dy), at.in<T>(x), at.out<S>(made.weight));
      }
    });
  });
  return made;
}

/// sum += dy weight, with dy [..., out], weight [out, in] and sum [..., in] of one dtype. Not recorded.
void add_input_gradient(const Tensor& dy, const Tensor& weight, Tensor& sum) {
  const int64_t rows = rows_of(dy), out = weight.size(0), in = weight.size(1);
  run_kernels("linear", dy.device(), [&](const KernelCall& at) {
    detail::dispatch_values<Matmul>("linear", dy.dtype(), [&]<class T>(T) {
      kernels::Gemm gemm = kernels::linear_input_gemm(rows, out, in, MatmulPrecisionScope::current());
      gemm.accumulate = true;
      kernels::products<T>(at).gemm(gemm, at.in<T>(dy), at.in<T>(weight), at.out<T>(sum), nullptr);
    });
  });
}

Tensors Matmul::gradients(const BackwardContext& c) const {
  const Tensor dy = c.grad(), x = c.saved(0), y = c.saved(1);
  Tensor da, db;
  if (c.needs(0)) da = left_gradient(dy, y, options);
  if (c.needs(1)) {
    const bool shared = y.rank() == 2 && x.rank() > 2 && !options.transpose_a && x.numel() > 0;
    if (!shared)
      db = right_gradient(dy, x, options);
    else
      db = options.transpose_b ? weight_gradient(dy, x) : weight_gradient(x, dy);
  }
  return {da, db};
}

struct Linear {
  kernels::Gemm gemm;
  Shape shape;  // of y

  Results<1> results(Inputs in) const { return {{empty_result(shape, in[0].options())}}; }
  bool computes_halves(const kernels::Target& target, Inputs in) const {
    return kernels::has_half_products(target) && (in[0].dtype() == bf16 || in[0].dtype() == in[1].dtype());
  }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    kernels::Gemm call = gemm;
    const Ref<Storage> held = read_packed(c.input(1), call);
    const Tensor weight = weight_beside(c.input(0), c.input(1)), bias = weight_beside(c.input(0), c.input(2));
    if (defer_product(c.at(), call, {c.input(0), weight, bias, c.output()})) return;
    kernels::products(c).gemm(call, c.in(0), c.at().template in<T>(weight), c.out(), c.at().template in<T>(bias));
  }
  Tensor saved_input(size_t i, Inputs in) const { return i < 2 ? in[i] : Tensor(); }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor dy = c.grad();
    const DType dtype = c.saved(1).dtype();  // of the parameters
    Tensor dx, dweight, dbias;
    if (c.needs(0)) {
      const Tensor weight = weight_beside(dy, c.saved(1), c.create_graph());
      dx = c.grad_sum(0);
      if (dx.defined())
        add_input_gradient(dy, weight, dx);
      else
        dx = matmul(dy, weight);
    }
    const Tensor sum = c.grad_sum(1);
    if (c.needs(1) && (c.needs(2) || dtype != dy.dtype() || sum.defined()) && !c.create_graph()) {
      const LinearGradients made = parameter_gradients(dy, c.saved(0), dtype, c.needs(2), sum);
      return {dx, made.weight, made.bias};
    }
    const Tensor wide = cast(dy, dtype);
    if (c.needs(1)) dweight = weight_gradient(wide, cast(c.saved(0), dtype));
    if (c.needs(2)) dbias = sum_to(wide, {dy.size(-1)});
    return {dx, dweight, dbias};
  }
  Tensor reference(Inputs in) const {
    const Tensor product = matmul(in[0], in[1], {.transpose_b = true});
    return in[2].defined() ? product + in[2] : product;
  }
};

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) { return matmul(a, b, {}); }

Tensor matmul(const Tensor& given_a, const Tensor& given_b, const MatmulOptions& options) {
  const Tensor a = beside_activation(given_a, given_b), b = beside_activation(given_b, given_a);
  check_same_dtype("matmul", a, b);
  if (a.rank() == 0 || b.rank() == 0)
    raise(ErrorKind::shape, "matmul: needs at least one axis: a {} x b {}", to_string(a.shape()), to_string(b.shape()));
  if ((a.rank() == 1 && options.transpose_a) || (b.rank() == 1 && options.transpose_b))
    raise(ErrorKind::shape, "matmul: a vector cannot be transposed: a {} x b {}", to_string(a.shape()),
          to_string(b.shape()));
  if (a.rank() == 1) {
    const Tensor y = matmul(unsqueeze(a, 0), b.rank() == 1 ? unsqueeze(b, 1) : b, options);
    return b.rank() == 1 ? reshape(y, Shape{}) : squeeze(y, -2);
  }
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1), options), -1);
  return fused(matmul_op, {a, b}, Matmul(a, b, options),
               {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}});
}

Tensor linear(const Tensor& given, const Tensor& weight, const Tensor& bias) {
  const Tensor x = as_activation(given, weight);
  check_linear("linear", x, weight, bias);
  const int64_t out = weight.shape()[0], in = weight.shape()[1];
  const int64_t rows = rows_of(x);
  for (int64_t size : {rows, out, in}) check_product_size("linear", size);
  const kernels::Gemm gemm = kernels::linear_gemm(rows, out, in, MatmulPrecisionScope::current());
  return fused(linear_op, {x, weight, bias}, Linear{gemm, x.shape().with(x.rank() - 1, out)});
}

}  // namespace tape
