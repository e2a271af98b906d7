#include "autograd/tensor.h"

#include <atomic>
#include <type_traits>

#include "autograd/create.h"
#include "autograd/device_memory.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"

namespace tape {

TensorImpl::TensorImpl(Ref<Storage> storage_, int64_t offset_, const Shape& shape_, DType dtype_)
    : storage(std::move(storage_)), offset(offset_), shape(shape_), dtype(dtype_) {}
TensorImpl::~TensorImpl() = default;

namespace {

Ref<Node> make_leaf(const Shape& shape, DType dtype, Device device) {
  Ref<Node> leaf(new Node);
  leaf->outputs.push_back({shape, dtype, device});
  return leaf;
}

/// A leaf of another shape, dtype or device that takes over the hooks of `leaf`.
Ref<Node> replaced_leaf(const Ref<Node>& leaf, const TensorImpl& values) {
  if (!leaf || !is_floating(values.dtype)) return nullptr;
  Ref<Node> made = make_leaf(values.shape, values.dtype, values.storage->device());
  made->outputs[0].hooks.swap(leaf->outputs[0].hooks);
  made->frozen = leaf->frozen;
  made->attributes = leaf->attributes;
  return made;
}

Node::Output& place_on_tape(const Tensor& tensor, const char* operation) {
  if (!tensor.requires_grad()) raise(ErrorKind::graph, "{}: the tensor does not require gradients", operation);
  return tensor.impl().node->outputs[tensor.impl().output];
}

/// Hook ids are never reused, so a stale id cannot remove a later hook.
int64_t next_handle() {
  static std::atomic<int64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void Tensor::check_type(DType asked) const {
  if (asked != dtype())
    raise(ErrorKind::dtype, "data: requested {}, but the tensor is {}", to_string(asked), to_string(dtype()));
}

Number Tensor::only_value() const {
  if (numel() != 1) raise(ErrorKind::shape, "item: needs one element, the tensor is {}", to_string(shape()));
  const Tensor host = on_host();
  return dispatch_all(dtype(), [&]<class T>(T) {
    if constexpr (std::is_arithmetic_v<T>)
      return Number(*host.data<T>());
    else
      return Number(static_cast<double>(*host.data<T>()));
  });
}

void Tensor::refuse_undefined() {
  raise(
      ErrorKind::graph,
      "the tensor is undefined: nothing was assigned to it, it was moved from, or it is a gradient before backward()");
}

Tensor& Tensor::check_observable(const char* operation) {
  if (!is_shared())
    raise(
        ErrorKind::graph,
        "{}: the result would be lost: this temporary {} is a copy; use index_put() or put_slice(), or assign it first",
        operation, to_string(shape()));
  return *this;
}

void Tensor::refuse_host_access() const {
  raise(ErrorKind::device, "data: the tensor {} is on {}; use .to(cpu)", to_string(shape()), to_string(device()));
}

Tensor Tensor::on_host() const { return device().is_cpu() ? *this : detach().to(cpu); }

Tensor Tensor::to(DType dtype) const { return cast(*this, dtype); }
Tensor Tensor::to(Device device) const { return copy_to(*this, device); }
Tensor Tensor::pin_memory() const {
  const int64_t bytes = numel() * size_of(dtype());
  void* const block =
      device_memory::allocate_pinned(default_device().is_cuda() ? default_device() : Device(cuda), bytes);
  const Tensor pinned = from_blob(block, shape(), dtype(), block, device_memory::free_pinned);
  copy_bytes(cpu, block, cpu, raw(), bytes);
  return pinned;
}

Tensor Tensor::clone() const { return tape::clone(*this); }
Tensor Tensor::operator[](int64_t index) const { return select(*this, 0, index); }

Tensor Tensor::detach() const {
  const TensorImpl& from = impl();
  return Tensor(Ref(new TensorImpl(from.storage, from.offset, from.shape, from.dtype)));
}

bool Tensor::is_leaf() const { return !requires_grad() || impl_->node->is_leaf(); }

Tensor& Tensor::requires_grad_(bool requires_grad) {
  TensorImpl& self = impl();
  if (requires_grad == this->requires_grad()) return *this;
  if (requires_grad) {
    if (!is_floating(self.dtype))
      raise(ErrorKind::dtype, "requires_grad_: only floating tensors have gradients, this one is {}",
            to_string(self.dtype));
    Ref<Node> leaf = self.frozen_leaf ? std::move(self.frozen_leaf) : make_leaf(self.shape, self.dtype, device());
    leaf->frozen = false;
    self.node = std::move(leaf);
    self.output = 0;
  } else {
    if (!is_leaf())
      raise(ErrorKind::graph, "requires_grad_: the tensor is the result of '{}'; use detach()", self.node->name());
    self.frozen_leaf = std::move(self.node);
    self.frozen_leaf->frozen = true;
    self.frozen_leaf->outputs[0].grad = Tensor();
  }
  return *this;
}

Tensor Tensor::grad() const { return requires_grad() ? impl_->node->outputs[impl_->output].grad : Tensor(); }

void Tensor::set_grad(const Tensor& gradient) {
  if (!requires_grad() && !gradient.defined()) return;
  Node::Output& place = place_on_tape(*this, "set_grad");
  if (gradient.defined()) {
    check_same_shape("set_grad", *this, gradient);
    check_same_dtype("set_grad", *this, gradient);
    if (gradient.device() != device())
      raise(ErrorKind::device, "set_grad: the gradient is on {}, the tensor is on {}", to_string(gradient.device()),
            to_string(device()));
  }
  place.grad = gradient;
}

Tensor& Tensor::retain_grad() {
  place_on_tape(*this, "retain_grad").retain = true;
  return *this;
}

int64_t Tensor::register_hook(GradientHook hook) {
  const int64_t handle = next_handle();
  place_on_tape(*this, "register_hook").hooks.push_back({.handle = handle, .arriving = std::move(hook)});
  return handle;
}

int64_t Tensor::register_post_accumulate_grad_hook(PostAccumulateGradHook hook) {
  Node::Output& place = place_on_tape(*this, "register_post_accumulate_grad_hook");
  if (!is_leaf())
    raise(ErrorKind::graph,
          "register_post_accumulate_grad_hook: the tensor is the result of '{}' and accumulates no gradient; use "
          "register_hook",
          impl().node->name());
  const int64_t handle = next_handle();
  place.hooks.push_back({.handle = handle, .gathered = std::move(hook)});
  return handle;
}

void Tensor::remove_hook(int64_t handle) {
  for (Node* const node : {impl().node.get(), impl().frozen_leaf.get()})
    if (node)
      for (Node::Output& place : node->outputs)
        std::erase_if(place.hooks, [handle](const Node::Hook& hook) { return hook.handle == handle; });
}

void Tensor::backward() const { backward(BackwardOptions{}); }
void Tensor::backward(const BackwardOptions& options) const { tape::backward({*this}, {options.gradient}, options); }

void Tensor::set_data(const Tensor& values) {
  TensorImpl& self = impl();
  const TensorImpl& from = values.impl();
  if (!is_leaf()) raise(ErrorKind::graph, "set_data: the tensor is the result of '{}'", self.node->name());
  if (requires_grad() && !is_floating(from.dtype))
    raise(ErrorKind::dtype, "set_data: the tensor requires gradients, but {} values cannot have any",
          to_string(from.dtype));
  if (!(self.shape == from.shape) || self.dtype != from.dtype || device() != values.device()) {
    Ref<Node> leaf = replaced_leaf(self.node, from);
    self.frozen_leaf = replaced_leaf(self.frozen_leaf, from);
    self.node = std::move(leaf);
  }
  ++self.replaced;
  self.storage = from.storage;
  self.offset = from.offset;
  self.shape = from.shape;
  self.dtype = from.dtype;
}

}  // namespace tape
