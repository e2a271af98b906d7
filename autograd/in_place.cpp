#include <unordered_set>

#include "autograd/create.h"
#include "autograd/device_memory.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/shape/common/copy.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/binary_call.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/defer_record_events.h"
#include "autograd/tape/tape.h"

// In-place operations: the members of Tensor whose names end with an underscore.
namespace tape {
namespace {

using kernels::Binary;

void refuse_in_place(const Tensor& tensor, const char* operation) {
  if (tensor.requires_grad() && grad_enabled())
    raise(ErrorKind::graph, "{}: in-place write to a tensor {} that requires gradients; use a NoGrad scope or detach()",
          operation, to_string(tensor.shape()));
}

/// Name of an operation in the history of `other` that saved x, or null. Recording x = f(x, other) would then form a
/// reference cycle: x, its new node, that operation's node and the saved x.
const char* find_saving_op(const Tensor& x, const Tensor& other) {
  if (!x.is_shared() || !other.requires_grad()) return nullptr;
  std::vector<const Node*> stack{other.impl().node.get()};
  std::unordered_set<const Node*> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Node::Saved& saved : node->saved)
      if (saved.value.defined() && saved.value.is(x)) return node->name();
    for (const Node::Edge& edge : node->inputs)
      if (edge.node && seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
  }
  return nullptr;
}

/// Throws Error (graph) if recording x = f(x, other) would form such a cycle.
void refuse_saved(const Tensor& x, const char* operation, const Tensor& other) {
  if (const char* name = find_saving_op(x, other))
    raise(ErrorKind::graph, "{}: the backward of '{}' needs the old values of this tensor {}; write out of place",
          operation, name, to_string(x.shape()));
}

/// A new tensor with the values and the history of x.
Tensor with_history_of(const Tensor& x) {
  Tensor old = x.detach().clone();
  old.impl().node = x.impl().node;
  old.impl().output = x.impl().output;
  return old;
}

/// Copies the values, which may overlap x, to it.
void overwrite(Tensor& x, const Tensor& values) {
  x.impl().storage->bump_version();
  copy_bytes(x.device(), x.device_raw(), values.device(), values.device_raw(), x.numel() * size_of(x.dtype()));
}

/// x = f(old x), recorded; whatever used the old x keeps its history.
template <class F>
void record_in_place(Tensor& x, const char* operation, const F& f) {
  if (x.is_leaf()) refuse_in_place(x, operation);
  if (x.impl().storage->use_count() > 1)
    raise(ErrorKind::graph,
          "{}: a view of this tensor {}, or a value saved for backward, shares its memory; write out of place "
          "or to a clone",
          operation, to_string(x.shape()));
  const bool retain = x.requires_grad() && x.impl().node->outputs[x.impl().output].retain;
  DeferRecordEvents later;
  const Tensor values = f(with_history_of(x)).to(x.dtype());
  overwrite(x, values);
  x.impl().node = values.impl().node;
  x.impl().output = values.impl().output;
  if (retain) x.retain_grad();
  later.flush(x);
}

/// x = f(x), where f computes values of dtype `result`.
template <class F>
Tensor& write(Tensor& x, const char* operation, DType result, bool recorded, const F& f) {
  if (!can_cast(result, x.dtype()))
    raise(ErrorKind::dtype, "{}: the result is {}, which cannot be written to {}", operation, to_string(result),
          to_string(x.dtype()));
  if (recorded)
    record_in_place(x, operation, f);
  else
    overwrite(x, f(x.detach()).to(x.dtype()));
  return x;
}

/// Runs the kernel in place; both operands must have a dtype that kernels support.
void combine_values(const char* operation, Tensor& x, Binary kind, const Tensor& other) {
  const bool whole = other.impl().offset == x.impl().offset && other.shape() == x.shape();
  const Tensor operand = other.shares_storage(x) && !whole ? other.detach().clone() : other;
  const kernels::Broadcast plan = broadcast_plan(x.shape(), x.shape(), operand.shape());
  write_binary(operation, kind, plan, x, operand, x);
}

Tensor& combine(Tensor& x, const char* operation, Binary kind, Tensor (*f)(const Tensor&, const Tensor&),
                const Tensor& other) {
  if (!broadcasts_to(other.shape(), x.shape()))
    raise(ErrorKind::shape, "{}: {} does not broadcast to the target's {}", operation, to_string(other.shape()),
          to_string(x.shape()));
  DType result = result_type(x, other);
  if (kind == Binary::div && !is_floating(result)) result = f32;
  const bool recorded = grad_enabled() && (x.requires_grad() || other.requires_grad());
  const bool is_arithmetic = kind == Binary::add || kind == Binary::sub || kind == Binary::mul;
  const bool has_kernel = is_arithmetic ? same_arithmetic_dtype(x, other) : same_compute_dtype(x, other);
  if (!recorded && has_kernel && result == x.dtype()) {
    observe_use({x, other});
    combine_values(operation, x, kind, other);
    return x;
  }
  if (recorded) refuse_saved(x, operation, other);
  return write(x, operation, result, recorded, [&](const Tensor& old) { return f(old, other.is(x) ? old : other); });
}

/// x = x * scale + shift, or f(x) if it is recorded or x is neither f32 nor f64.
template <class F>
Tensor& with_scalar(Tensor& x, const char* operation, DType result, double scale, double shift, const F& f) {
  const bool recorded = grad_enabled() && x.requires_grad();
  if (recorded || !is_f32_or_f64(x.dtype())) return write(x, operation, result, recorded, f);
  observe_use({x});
  run_kernels(operation, x.device(), [&](const KernelCall& at) {
    dispatch_floating(operation, x.dtype(), [&]<class T>(T) {
      kernels::elementwise<T>(at).affine(x.numel(), at.in<T>(x), static_cast<T>(scale), static_cast<T>(shift),
                                         at.out<T>(x));
    });
  });
  return x;
}

}  // namespace

Tensor& Tensor::fill_(const Number& value) {
  refuse_in_place(*this, "fill_");
  const uint64_t element = dispatch_all(dtype(), [&]<class T>(T) { return kernels::element_of(value.to<T>("fill_")); });
  run_kernels("fill_", device(),
              [&](const KernelCall& at) { kernels::copy(at).fill(numel(), size_of(dtype()), element, at.out(*this)); });
  return *this;
}

Tensor& Tensor::copy_(const Tensor& source) {
  check_same_shape("copy_", *this, source);
  if (grad_enabled() && is_floating(dtype()) && (requires_grad() || source.requires_grad())) {
    refuse_saved(*this, "copy_", source);
    record_in_place(*this, "copy_", [&](const Tensor&) { return tape::clone(source); });
    return *this;
  }
  observe_use({*this, source});
  overwrite(*this, source.detach().to(dtype()));
  return *this;
}

Tensor& Tensor::add_(const Tensor& other, const Number& scale) {
  const bool recorded = grad_enabled() && (requires_grad() || other.requires_grad());
  if (recorded || dtype() != other.dtype() || shape() != other.shape() || !is_f32_or_f64(dtype()) ||
      shares_storage(other))
    return combine(*this, "add_", Binary::add, add, scale.value() == 1 ? other : other * scale);
  observe_use({*this, other});
  run_kernels("add_", device(), [&](const KernelCall& at) {
    dispatch_floating("add_", dtype(), [&]<class T>(T) {
      kernels::elementwise<T>(at).accumulate(numel(), at.in<T>(other), static_cast<T>(scale.value()), at.out<T>(*this));
    });
  });
  return *this;
}

Tensor& Tensor::sub_(const Tensor& other) { return combine(*this, "sub_", Binary::sub, sub, other); }
Tensor& Tensor::mul_(const Tensor& other) { return combine(*this, "mul_", Binary::mul, mul, other); }
Tensor& Tensor::div_(const Tensor& other) { return combine(*this, "div_", Binary::div, div, other); }

Tensor& Tensor::add_(const Number& number) {
  return with_scalar(*this, "add_", result_type(*this, number), 1, number.value(),
                     [&](const Tensor& x) { return x + number; });
}

Tensor& Tensor::sub_(const Number& number) {
  return with_scalar(*this, "sub_", result_type(*this, number), 1, -number.value(),
                     [&](const Tensor& x) { return x - number; });
}

Tensor& Tensor::mul_(const Number& number) {
  return with_scalar(*this, "mul_", result_type(*this, number), number.value(), -0.0,
                     [&](const Tensor& x) { return x * number; });
}

Tensor& Tensor::div_(const Number& number) {
  const DType result = is_floating(dtype()) ? dtype() : f32;
  if (!detail::divides_by_product(number.value(), dtype()))
    return combine(*this, "div_", Binary::div, div, scalar(number, {result, device()}));
  return with_scalar(*this, "div_", result, 1 / number.value(), -0.0, [&](const Tensor& x) { return x / number; });
}

}  // namespace tape
