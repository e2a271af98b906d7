#include "autograd/ops/index/index.h"

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/kernels/index/index.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/activation_dtype.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

const Op gather_op({.name = "gather",
                    .formula = {.forward = "y{y} = x{0} at the positions in the index along axis {axis}",
                                .backward = {"dx{x} = 0, plus each element of dy{y} at the position it was taken "
                                             "from"}}});

const Op scatter_add_op({.name = "scatter_add",
                         .formula = {.forward = "y{y} = x{0}, plus the elements of source{1} at the positions in "
                                                "the index along axis {axis}",
                                     .backward = {"dx = dy", "dsource{x} = the elements of dy{y} at the index"}}});

const Op index_select_op({.name = "index_select",
                          .formula = {
                              .forward = "y{y} = the slices of x{0} at the positions in the index along axis {axis}",
                              .backward = {"dx{x} = 0, plus each slice of dy{y} at the position it was taken "
                                           "from"}}});

const Op index_add_op({.name = "index_add",
                       .formula = {.forward = "y{y} = x{0}, plus the slices of source{1} at the positions in "
                                              "the index along axis {axis}",
                                   .backward = {"dx = dy", "dsource{x} = the slices of dy{y} at the index"}}});

/// Adds each sample's rows to a separate table, without the padding row.
Tensor embedding_per_sample(const PerSampleCall& call) {
  const int64_t vocabulary = call.inputs[0].size(0), width = call.inputs[0].size(1);
  const Tensor ids = reshape(samples_first(call.node.saved[0].value, call.axis, call.samples), {call.samples, -1});
  const Tensor rows = samples_first(call.gradient, call.axis, call.samples);
  // One table with B times as many rows; each sample's ids are offset to its own part.
  const Tensor moved = ids + unsqueeze(arange(call.samples, ids.options()) * vocabulary, 1);
  const Tensor tables = index_add(zeros({call.samples * vocabulary, width}, rows.options()), 0,
                                  reshape(moved, {moved.numel()}), reshape(rows, {moved.numel(), width}));
  Tensor result = reshape(tables, {call.samples, vocabulary, width});
  const auto padding = call.node.attributes.get<int64_t>("padding_id");
  if (padding) put_slice_(result, 1, *padding, zeros({call.samples, 1, width}, rows.options()));
  return result;
}

const Op embedding_op({.name = "embedding",
                       .formula = {.forward = "y{y} = the rows of weight{0} at the ids",
                                   .backward = {"dweight{x} = for each row, the sum of the rows of dy{y} with its "
                                                "id<padding_id:; 0 for the padding row {padding_id}>"}},
                       .traits = {.axes = AxesFrom::lookup},
                       .per_sample = embedding_per_sample});

/// Applies `write` to an f32 copy of an f16 or bf16 tensor and copies the result back.
template <class F>
void write_in_f32(Tensor& x, const F& write) {
  const NoGrad no_grad;
  Tensor wide = cast(x, f32);
  write(wide);
  x.copy_(wide);
}

/// x[index[c]] += source[c] in place, with the same index for all of `outer` and `inner`.
void add_at(Tensor& x, const Extents& e, const Tensor& index, const Tensor& source) {
  if (is_half(x.dtype())) return write_in_f32(x, [&](Tensor& wide) { add_at(wide, e, index, cast(source, f32)); });
  run_kernels("index_add", x.device(), [&](const KernelCall& at) {
    dispatch_floating("index_add", x.dtype(), [&]<class T>(T) {
      kernels::index<T>(at).add_at(e.outer, e.size, e.inner, at.out<T>(x), index.numel(), at.in<int64_t>(index),
                                   at.in<T>(source));
    });
  });
}

/// sums = x (may be the same tensor), then sums[index[c, ..], ..] += source[c, ..].
void add_scattered(const Tensor& x, Tensor& sums, const Extents& e, const Tensor& index, const Tensor& source) {
  if (is_half(x.dtype())) {
    Tensor wide = cast(x.detach(), f32);
    add_scattered(wide, wide, e, index, cast(source.detach(), f32));
    sums.copy_(wide);
    return;
  }
  const int64_t count = e.outer * e.inner == 0 ? 0 : index.numel() / (e.outer * e.inner);
  run_kernels("scatter_add", x.device(), [&](const KernelCall& at) {
    dispatch_floating("scatter_add", x.dtype(), [&]<class T>(T) {
      kernels::index<T>(at).scatter_add(e.outer, e.size, e.inner, at.in<T>(x), at.out<T>(sums), count,
                                        at.in<int64_t>(index), at.in<T>(source));
    });
  });
}

}  // namespace

Tensor gather(const Tensor& x, int64_t axis, const Tensor& given) {
  axis = x.shape().axis(axis, "gather");
  check_fits("gather", "index", given, x, axis);
  const Extents e(x.shape(), axis);
  const Tensor index = wrapped_index("gather", given, e.size);
  Tensor y = empty(index.shape(), x.options());
  run_kernels("gather", x.device(), [&](const KernelCall& at) {
    kernels::take(at).gather(e.outer, e.size, e.inner, size_of(x.dtype()), at.in(x), index.shape()[axis],
                             at.in<int64_t>(index), at.out(y));
  });
  return record(gather_op, {x}, y, {index},
                [axis, shape = x.shape()](const BackwardContext& c) -> Tensors {
                  Tensor dx = zeros(shape, c.grad().options());
                  if (c.create_graph()) return {scatter_add(dx, axis, c.saved(0), c.grad())};
                  add_scattered(dx, dx, Extents(shape, axis), c.saved(0), c.grad());
                  return {dx};
                },
                {{"axis", axis}});
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  return scatter_sum("scatter_add", x, axis, index, source);
}

Tensor scatter_sum(const char* operation, const Tensor& x, int64_t axis, const Tensor& given, const Tensor& source) {
  axis = x.shape().axis(axis, operation);
  check_scattered(operation, x, axis, given, source);
  const Extents e(x.shape(), axis);
  const Tensor index = wrapped_index(operation, given, e.size);
  Tensor y = empty(x.shape(), x.options());
  add_scattered(x.detach(), y, e, index, source.detach());
  return record(scatter_add_op, {x, source}, y, {index},
                [axis](const BackwardContext& c) -> Tensors {
                  return {c.grad(), c.needs(1) ? gather(c.grad(), axis, c.saved(0)) : Tensor()};
                },
                {{"axis", axis}});
}

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& given) {
  axis = x.shape().axis(axis, "index_select");
  check_vector("index_select", given);
  const Extents e(x.shape(), axis);
  const Tensor index = wrapped_index("index_select", given, e.size);
  Tensor y = empty(x.shape().with(axis, index.numel()), x.options());
  run_kernels("index_select", x.device(), [&](const KernelCall& at) {
    kernels::take(at).take(e.outer, e.size, e.inner, size_of(x.dtype()), at.in(x), index.numel(), at.in<int64_t>(index),
                           at.out(y));
  });
  return record(index_select_op, {x}, y, {index},
                [axis, shape = x.shape()](const BackwardContext& c) -> Tensors {
                  Tensor dx = zeros(shape, c.grad().options());
                  if (c.create_graph()) return {index_add(dx, axis, c.saved(0), c.grad())};
                  add_at(dx, Extents(shape, axis), c.saved(0), c.grad());
                  return {dx};
                },
                {{"axis", axis}});
}

Tensor index_add(const Tensor& x, int64_t axis, const Tensor& given, const Tensor& source) {
  axis = x.shape().axis(axis, "index_add");
  const Extents e(x.shape(), axis);
  const Tensor index = wrapped_slices("index_add", x, axis, given, source);
  Tensor y = x.detach().clone();
  add_at(y, e, index, source);
  return record(index_add_op, {x, source}, y, {index},
                [axis](const BackwardContext& c) -> Tensors {
                  return {c.grad(), c.needs(1) ? index_select(c.grad(), axis, c.saved(0)) : Tensor()};
                },
                {{"axis", axis}});
}

Tensor embedding(const Tensor& weight, const Tensor& given, const EmbeddingOptions& options) {
  if (weight.rank() != 2)
    raise(ErrorKind::shape, "embedding: the weight must be [V, C], got {}", to_string(weight.shape()));
  const int64_t vocabulary = weight.size(0), width = weight.size(1);
  const std::optional<int64_t> padding = options.padding_index;
  if (padding && (*padding < 0 || *padding >= vocabulary))
    raise(ErrorKind::config, "embedding: padding_index {} is outside [0, {})", *padding, vocabulary);
  const Tensor ids = checked_index("embedding", "id", given, vocabulary);
  const bool rounds = activation_dtype(weight) != weight.dtype();
  // A GPU keeps the rounded table for the products of tied weights; the CPU rounds what it takes.
  const Tensor table =
      rounds && kernels::has_bf16_kernels(kernels::Target{weight.device()}) ? rounded_weight(weight) : weight;
  Tensor y = empty(ids.shape().inserted(ids.rank(), width), table.options());
  run_kernels("embedding", weight.device(), [&](const KernelCall& at) {
    kernels::take(at).take(1, vocabulary, width, size_of(table.dtype()), at.in(table), ids.numel(), at.in<int64_t>(ids),
                           at.out(y));
  });
  if (rounds) y = rounded(y);
  return record(embedding_op, {weight}, y, {ids},
                [=, dtype = weight.dtype()](const BackwardContext& c) -> Tensors {
                  const Tensor index = reshape(c.saved(0), {c.saved(0).numel()});
                  const Tensor rows = reshape(cast(c.grad(), dtype), Shape{index.numel(), width});
                  Tensor dweight = padding ? Tensor() : c.grad_sum(0);
                  if (!dweight.defined()) dweight = zeros({vocabulary, width}, rows.options());
                  if (c.create_graph()) {
                    const auto is_padding = [&] { return eq(unsqueeze(index, 1), *padding); };
                    return {index_add(dweight, 0, index, padding ? masked_fill(rows, is_padding(), 0) : rows)};
                  }
                  add_at(dweight, Extents(dweight.shape(), 0), index, rows);
                  if (padding) select(dweight, 0, *padding).zero_();
                  return {dweight};
                },
                {{"padding_id", padding}});
}

Tensor one_hot(const Tensor& given, int64_t classes, DType dtype) {
  if (classes < 0) raise(ErrorKind::config, "one_hot: the number of classes must not be negative, got {}", classes);
  const Tensor ids = checked_index("one_hot", "id", given, classes);
  return cast(eq(unsqueeze(ids, -1), arange(classes, ids.options())), dtype);
}

}  // namespace tape
