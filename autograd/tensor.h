#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "dtype.h"
#include "memory.h"
#include "number.h"
#include "print.h"
#include "ref.h"
#include "shape.h"

namespace tape {

class Node;
void dispose(Node* node);
class Tensor;
using Tensors = std::vector<Tensor>;

/// What the handles of one tensor share: its place in a storage, and its place on the tape.
struct TensorImpl : public RefCounted {
  TensorImpl(Ref<Storage> storage, int64_t offset_bytes, const Shape& shape, DType dtype);
  ~TensorImpl();

  Ref<Storage> storage;
  int64_t offset;  // in bytes
  Shape shape;
  DType dtype;
  Ref<Node> node;         // who made it, or the leaf that gathers its gradient; null without gradients
  uint32_t output = 0;    // which output of that node it is
  uint32_t replaced = 0;  // times that set_data() gave it other values
  Ref<Node> frozen_leaf;  // the leaf, which keeps the hooks, while gradients are not required
};

struct BackwardOptions;

/// Sees the whole gradient of a tensor; a defined result takes its place.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
/// Sees the gradient that a leaf has gathered, and may put another, or none (Tensor()), in its place.
using PostAccumulateGradHook = std::function<void(Tensor& gradient)>;

/// A dense, contiguous, row-major array with a place on the tape. Copying a Tensor copies a handle to the same values;
/// clone() copies the values. A default-made Tensor is undefined: it has no values, and defined() is all it answers.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  const Shape& shape() const { return impl().shape; }
  int64_t rank() const { return shape().rank(); }
  int64_t numel() const { return shape().numel(); }
  /// Size of one axis, counted from the back where negative.
  int64_t size(int64_t axis) const { return shape().at(axis, "size"); }
  DType dtype() const { return impl().dtype; }

  /// The values in row-major order; T must be the dtype's type. Throws Error (dtype) otherwise.
  template <class T>
  const T* data() const {
    check_type(dtype_of<T>);
    return static_cast<const T*>(raw());
  }
  /// The values for writing: counts as an in-place write, so a backward that saved them will refuse them.
  template <class T>
  T* mutable_data() {
    check_type(dtype_of<T>);
    impl().storage->bump_version();
    return static_cast<T*>(raw());
  }
  void* raw() const { return static_cast<char*>(impl().storage->data()) + impl().offset; }

  /// The one value of a tensor with one element, as a double or a T: exact from i64 to i64, cut off behind the point
  /// from a floating dtype to a whole one. Throws Error (shape) for other sizes, (numeric) where it does not fit T.
  double item() const { return only_value().value(); }
  template <class T>
  T item() const {
    return only_value().to<T>("item");
  }
  template <class T>
  std::vector<T> to_vector() const {
    const T* values = data<T>();
    return std::vector<T>(values, values + numel());
  }
  /// The values as an xtensor expression, without a copy; defined in autograd/xtensor.h.
  template <class T>
  auto as_xtensor() const;

  /// The same values in another dtype; gradients flow between the floating types; see ops/elementwise/cast.h. The
  /// tensor itself where nothing changes.
  Tensor to(DType dtype) const;
  /// A copy of the values; gradients flow.
  Tensor clone() const;
  /// The same values without their history.
  Tensor detach() const;
  /// Row `index` of the first axis (a view); operator[] of nested lists.
  Tensor operator[](int64_t index) const;

  // --- operations as methods: x.sum(0) is sum(x, 0); the functions in ops/ document them ---
  Tensor sum(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor mean(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor max(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor min(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor argmax(int64_t axis, Dims dims = Dims::drop) const;
  Tensor argmin(int64_t axis, Dims dims = Dims::drop) const;
  Tensor any(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor all(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor reshape(const std::vector<int64_t>& sizes) const;
  Tensor view(const std::vector<int64_t>& sizes) const;  ///< as reshape(): tensors are always contiguous
  Tensor flatten(int64_t first = 0, int64_t last = -1) const;
  Tensor transpose(int64_t a = -2, int64_t b = -1) const;
  Tensor permute(const std::vector<int64_t>& axes) const;
  Tensor unsqueeze(int64_t axis) const;
  Tensor squeeze(const Axes& axes = {}) const;
  Tensor expand(const std::vector<int64_t>& sizes) const;
  Tensor matmul(const Tensor& other) const;
  Tensor softmax(int64_t axis) const;
  Tensor log_softmax(int64_t axis) const;
  Tensor exp() const;
  Tensor log() const;
  Tensor sqrt() const;
  Tensor square() const;
  Tensor abs() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor gelu() const;
  Tensor pow(const Number& exponent) const;
  Tensor pow(const Tensor& exponent) const;
  Tensor clamp(double low, double high) const;
  Tensor masked_fill(const Tensor& mask, const Number& value) const;

  // --- gradients ---
  bool requires_grad() const { return defined() && impl_->node; }
  /// Whether no recorded operation made it.
  bool is_leaf() const;
  /// Makes a leaf whose gradient backward() gathers in grad(). Throws Error for whole numbers and bool, and for turning
  /// it off on the result of a recorded operation (use detach()). Turning it off drops the gradient and keeps the
  /// hooks, which are active again, also in a graph that was recorded before, once it is turned on again; until then a
  /// backward() adds nothing and calls no hook.
  Tensor& requires_grad_(bool requires_grad = true);
  /// The gradient gathered so far; undefined before a backward reached the tensor.
  Tensor grad() const;
  void set_grad(const Tensor& gradient);
  void zero_grad() { set_grad(Tensor()); }
  /// Keeps the gradient of a tensor that is not a leaf in grad().
  Tensor& retain_grad();
  /// Calls the hook with the whole gradient during each backward; returns a number for remove_hook.
  int64_t register_hook(GradientHook hook);
  /// Calls the hook with what is in grad() of a leaf as soon as a backward() has added to it, behind what
  /// register_hook() registered; grad() of other tensors than the leaf, and tape::grad(), call none. Error (graph) for
  /// the result of a recorded operation.
  int64_t register_post_accumulate_grad_hook(PostAccumulateGradHook hook);
  /// Does nothing for a hook that was removed before.
  void remove_hook(int64_t handle);
  /// Gradients of this tensor with respect to every leaf it was made from (see BackwardOptions in
  /// autograd/tape/tape.h).
  void backward() const;
  void backward(const BackwardOptions& options) const;

  // --- in-place writes: for every handle of the tensor and every view of its memory ---
  /// Error (graph) while gradients are recorded and the tensor requires them; Error (numeric) where a whole dtype does
  /// not hold the value.
  Tensor& fill_(const Number& value);
  Tensor& zero_() { return fill_(0); }
  Tensor& copy_(const Tensor& source);  ///< same shape; converts the dtype; Error (graph) as fill_

  // Arithmetic in place, also as +=, -=, *= and /=. The other operand broadcasts to this shape, never this one to its;
  // dtypes are promoted as in ops/elementwise/arithmetic.h and the result rounded or wrapped to this dtype, or Error
  // (dtype) where that would make whole numbers of floating ones, or bool of either. Operands may lie in one memory.
  // Recorded as the operation out of place, after which the tensor stands for the result. Error (graph) where that
  // cannot be: for a leaf that requires gradients, and where a view or a value that a backward will need lies in the
  // same memory. (A backward that saved a handle of this very tensor refuses it then.)
  Tensor& add_(const Tensor& other, const Number& scale = 1);  ///< this += scale * other
  Tensor& sub_(const Tensor& other);
  Tensor& mul_(const Tensor& other);
  Tensor& div_(const Tensor& other);
  Tensor& add_(const Number& number);
  Tensor& sub_(const Number& number);
  Tensor& mul_(const Number& number);
  Tensor& div_(const Number& number);
  Tensor& operator+=(const Tensor& other) { return add_(other); }
  Tensor& operator-=(const Tensor& other) { return sub_(other); }
  Tensor& operator*=(const Tensor& other) { return mul_(other); }
  Tensor& operator/=(const Tensor& other) { return div_(other); }
  Tensor& operator+=(const Number& number) { return add_(number); }
  Tensor& operator-=(const Number& number) { return sub_(number); }
  Tensor& operator*=(const Number& number) { return mul_(number); }
  Tensor& operator/=(const Number& number) { return div_(number); }
  /// How many in-place writes the storage has seen.
  uint64_t version() const { return impl().storage->version(); }

  /// Whether two handles are one tensor.
  bool is(const Tensor& other) const { return impl_ == other.impl_; }
  /// Whether anybody sees these values besides the `handles` handles of this tensor that the caller has: another
  /// handle, or another tensor in the same storage. Where nobody does, they may be written over.
  bool is_shared(int64_t handles = 1) const { return impl().use_count() > handles || impl().storage->use_count() > 1; }
  /// Whether two tensors lie in one storage.
  bool shares_storage(const Tensor& other) const { return impl().storage == other.impl().storage; }

  /// Replaces values, shape and dtype of this very tensor, for every handle of it: how a module changes its dtype.
  /// Hooks are kept. Where shape and dtype stay the same, so are the gradient and the tensor's place in graphs that
  /// were recorded before; a backward that saved the tensor's values is refused. Error (graph) for the result of a
  /// recorded operation, Error (dtype) where gradients are required and the new values are whole numbers or bool.
  void set_data(const Tensor& values);

  /// Throws std::logic_error for an undefined tensor.
  TensorImpl& impl() const {
    TAPE_ASSERT(impl_);
    return *impl_;
  }
  const Ref<TensorImpl>& ref() const { return impl_; }

 private:
  void check_type(DType asked) const;
  Number only_value() const;

  Ref<TensorImpl> impl_;
};

}  // namespace tape
