#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "dtype.h"
#include "memory.h"
#include "number.h"
#include "options.h"
#include "print.h"
#include "ref.h"
#include "shape.h"

/// Tensors, operations on them, and automatic differentiation; other parts of the library are in nested namespaces.
namespace tape {

class Node;
/// Destroys a node and all nodes only it kept alive, without recursion; Ref<Node> calls it.
void dispose(Node* node);
class Tensor;
/// A list of tensors, such as the inputs or gradients of an operation; entries may be undefined.
using Tensors = std::vector<Tensor>;

/// State shared by the handles of one tensor: its storage and its autograd node.
struct TensorImpl : public RefCounted {
  /// A tensor of the storage's memory from offset_bytes on, without gradients. Not checked.
  TensorImpl(Ref<Storage> storage, int64_t offset_bytes, const Shape& shape, DType dtype);
  ~TensorImpl();

  Ref<Storage> storage;   ///< memory, shared with views
  int64_t offset;         ///< of the first value in the storage, in bytes
  Shape shape;            ///< sizes; values are row-major without gaps
  DType dtype;            ///< element type
  Ref<Node> node;         ///< the node that produced it, or its leaf node; null without gradients
  uint32_t output = 0;    ///< index among that node's outputs
  uint32_t replaced = 0;  ///< number of set_data() calls
  Ref<Node> frozen_leaf;  ///< the leaf node with its hooks, while gradients are not required
};

struct BackwardOptions;

/// Receives the complete gradient of a tensor; a defined return value replaces it.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
/// Receives the accumulated gradient of a leaf and may replace it or clear it with Tensor().
using PostAccumulateGradHook = std::function<void(Tensor& gradient)>;

/// A dense, contiguous, row-major array with autograd. Copying a Tensor copies a handle to the same values; clone()
/// copies the values. A default-constructed Tensor is undefined: only defined() may be called on it.
class Tensor {
 public:
  Tensor() = default;
  /// A handle of an existing tensor; null makes an undefined one.
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A handle of the same tensor; one that was moved from is undefined.
  /// @{
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  /// @}
  /// Lets this handle refer to another tensor. Not for temporaries: x[0] = y would leave x as it is; write
  /// x[0].copy_(y).
  /// @{
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;
  /// @}

  bool defined() const { return static_cast<bool>(impl_); }  ///< false for a default-constructed tensor
  const Shape& shape() const { return impl().shape; }        ///< sizes of the axes, outermost first
  int64_t rank() const { return shape().rank(); }            ///< number of axes; 0 for a scalar
  int64_t numel() const { return shape().numel(); }          ///< number of elements; 1 for a scalar
  /// Size of one axis, counted from the back if negative.
  int64_t size(int64_t axis) const { return shape().at(axis, "size"); }
  DType dtype() const { return impl().dtype; }                ///< element type
  Device device() const { return impl().storage->device(); }  ///< where the values are
  /// Dtype and device, to create a tensor like this one.
  TensorOptions options() const { return {dtype(), device()}; }

  /// The values in row-major order. Throws Error (dtype) if T is not the dtype's C++ type, (device) if the values are
  /// not on the CPU; see to().
  template <class T>
  const T* data() const {
    check_type(dtype_of<T>);
    return static_cast<const T*>(raw());
  }
  /// The values for writing. Counts as an in-place write: a backward that saved them will throw.
  template <class T>
  T* mutable_data() {
    check_type(dtype_of<T>);
    impl().storage->bump_version();
    return static_cast<T*>(raw());
  }
  /// Address of the first value, for any dtype. Writes through it are not counted in version(). Throws Error (device)
  /// as data().
  void* raw() const {
    if (!device().is_cpu()) refuse_host_access();
    return device_raw();
  }
  /// The same in the memory of device(), for kernels that run there.
  /// @{
  template <class T>
  const T* device_data() const {
    check_type(dtype_of<T>);
    return static_cast<const T*>(device_raw());
  }
  template <class T>
  T* mutable_device_data() {
    check_type(dtype_of<T>);
    impl().storage->bump_version();
    return static_cast<T*>(device_raw());
  }
  void* device_raw() const { return static_cast<char*>(impl().storage->data()) + impl().offset; }
  /// @}

  /// The value of a one-element tensor as a double or a T. i64 to i64 is exact; floating to integer truncates. Throws
  /// Error (shape) for other sizes, (numeric) if the value does not fit T.
  /// @{
  double item() const { return only_value().value(); }
  template <class T>
  T item() const {
    return only_value().to<T>("item");
  }
  /// @}
  /// A copy of the values in row-major order, from any device. Throws Error (dtype) if T is not the dtype's C++ type.
  template <class T>
  std::vector<T> to_vector() const {
    const Tensor host = on_host();
    const T* values = host.data<T>();
    return std::vector<T>(values, values + numel());
  }
  /// The values as an xtensor expression, without a copy; defined in autograd/xtensor.h.
  template <class T>
  auto as_xtensor() const;

  /// The values in another dtype, or this tensor if the dtype is the same. Gradients flow between floating dtypes; see
  /// ops/elementwise/cast.h.
  Tensor to(DType dtype) const;
  /// The values on another device, or this tensor if it is there. Gradients flow back to this tensor's device.
  Tensor to(Device device) const;
  /// Both of them.
  Tensor to(const TensorOptions& options) const { return to(options.dtype).to(options.device); }
  /// A copy of the values, which must be on the CPU, in pinned memory, without history: a GPU copies from it at full
  /// speed and without waiting, as for batches that another thread prepares. It can be dropped at once, but do not
  /// change it before the copy is done (synchronize()). The driver pins it by default_device() if that is a GPU, else
  /// by the first one. Throws Error (device) without a GPU, (out_of_memory).
  Tensor pin_memory() const;
  /// A copy of the values; gradients flow through it.
  Tensor clone() const;
  /// The same values without history.
  Tensor detach() const;
  /// A view of row `index` of the first axis.
  Tensor operator[](int64_t index) const;

  /// The function of the same name in autograd/ops/ with this tensor as first argument, with its shapes, dtypes,
  /// gradients and errors: x.sum(0) is sum(x, 0).
  /// @{
  Tensor sum(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor mean(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor max(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor min(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor argmax(int64_t axis, Dims dims = Dims::drop) const;
  Tensor argmin(int64_t axis, Dims dims = Dims::drop) const;
  Tensor any(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor all(const Axes& axes = {}, Dims dims = Dims::drop) const;
  Tensor reshape(const std::vector<int64_t>& sizes) const;
  Tensor view(const std::vector<int64_t>& sizes) const;  ///< Same as reshape(), since tensors are always contiguous.
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
  /// @}

  // --- gradients ---
  /// Whether gradients flow to this tensor: it is a leaf set by requires_grad_(), or the result of a recorded
  /// operation.
  bool requires_grad() const { return defined() && impl_->node; }
  /// Whether the tensor is not the result of a recorded operation.
  bool is_leaf() const;
  /// Makes this a leaf whose gradient backward() accumulates in grad(). `false` drops the gradient; until it is set
  /// again, backward() skips the leaf and calls none of its hooks, which are kept and then also work for graphs
  /// recorded earlier. Throws Error for integers and bool, and for `false` on the result of a recorded operation (use
  /// detach()).
  Tensor& requires_grad_(bool requires_grad = true);
  /// The accumulated gradient; undefined before a backward has reached the tensor.
  Tensor grad() const;
  /// Replaces grad(); an undefined tensor clears it. Throws Error (graph) if this tensor does not require gradients,
  /// (shape), (dtype) and (device) if the gradient's is not this tensor's.
  void set_grad(const Tensor& gradient);
  /// Clears grad(), which is undefined until the next backward.
  void zero_grad() { set_grad(Tensor()); }
  /// Makes backward() store the gradient of a non-leaf tensor in grad().
  Tensor& retain_grad();
  /// Calls the hook with the complete gradient in each backward; returns an id for remove_hook.
  int64_t register_hook(GradientHook hook);
  /// Calls the hook with grad() of a leaf right after backward() has accumulated into it, after the hooks of
  /// register_hook(). Not called by tape::grad(). Throws Error (graph) for the result of a recorded operation.
  int64_t register_post_accumulate_grad_hook(PostAccumulateGradHook hook);
  /// Does nothing if the hook was already removed.
  void remove_hook(int64_t handle);
  /// Computes the gradients of this tensor with respect to every leaf it depends on; for the options see
  /// autograd/tape/backward.h.
  /// @{
  void backward() const;
  void backward(const BackwardOptions& options) const;
  /// @}

  // --- in-place writes: visible through every handle of the tensor and every view of its memory ---
  /// Throws Error (graph) if the tensor requires gradients while recording is on, (numeric) if an integer dtype cannot
  /// represent the value.
  Tensor& fill_(const Number& value);
  Tensor& zero_() { return fill_(0); }  ///< sets all values to 0 or false; throws as fill_()
  Tensor& copy_(const Tensor& source);  ///< same shape; converts the dtype; Error (graph) as fill_

  /// In-place arithmetic, also as +=, -=, *= and /=; add_(other, scale) adds scale * other. The other operand
  /// broadcasts to this shape and may share memory with this tensor. Dtypes are promoted as in
  /// ops/elementwise/arithmetic.h, and the result is rounded or wrapped to this dtype; throws Error (dtype) if that
  /// would turn floating values into integers, or either into bool. With gradients, it is recorded like the
  /// out-of-place operation, and this tensor then refers to the result. Throws Error (graph) for a leaf that requires
  /// gradients, and if a view or a value saved for backward shares the memory. (A backward that saved a handle of this
  /// very tensor throws later.)
  /// @{
  Tensor& add_(const Tensor& other, const Number& scale = 1);
  Tensor& sub_(const Tensor& other);
  Tensor& mul_(const Tensor& other);
  Tensor& div_(const Tensor& other);
  Tensor& add_(const Number& number);
  Tensor& sub_(const Number& number);
  Tensor& mul_(const Number& number);
  Tensor& div_(const Number& number);
  Tensor& operator+=(const Tensor& other) & { return add_(other); }
  Tensor& operator-=(const Tensor& other) & { return sub_(other); }
  Tensor& operator*=(const Tensor& other) & { return mul_(other); }
  Tensor& operator/=(const Tensor& other) & { return div_(other); }
  Tensor& operator+=(const Number& number) & { return add_(number); }
  Tensor& operator-=(const Number& number) & { return sub_(number); }
  Tensor& operator*=(const Number& number) & { return mul_(number); }
  Tensor& operator/=(const Number& number) & { return div_(number); }
  /// @}
  /// The same for a temporary view, as in x[0] += y. Throws Error (graph) for a temporary copy, whose result would be
  /// lost, as in index(x, {ids}) += y and select(x, 1, 0) += y; use index_put() or put_slice().
  /// @{
  Tensor& operator+=(const Tensor& other) && { return add_(other).check_observable("+="); }
  Tensor& operator-=(const Tensor& other) && { return sub_(other).check_observable("-="); }
  Tensor& operator*=(const Tensor& other) && { return mul_(other).check_observable("*="); }
  Tensor& operator/=(const Tensor& other) && { return div_(other).check_observable("/="); }
  Tensor& operator+=(const Number& number) && { return add_(number).check_observable("+="); }
  Tensor& operator-=(const Number& number) && { return sub_(number).check_observable("-="); }
  Tensor& operator*=(const Number& number) && { return mul_(number).check_observable("*="); }
  Tensor& operator/=(const Number& number) && { return div_(number).check_observable("/="); }
  /// @}
  /// Number of in-place writes to the storage.
  uint64_t version() const { return impl().storage->version(); }

  /// Whether both handles refer to the same tensor.
  bool is(const Tensor& other) const { return impl_ == other.impl_; }
  /// Whether the values are visible beyond the caller's `handles` handles of this tensor: through another handle, or
  /// another tensor of the same storage. If not, they may be overwritten.
  bool is_shared(int64_t handles = 1) const { return impl().use_count() > handles || impl().storage->use_count() > 1; }
  /// Whether both tensors use the same storage.
  bool shares_storage(const Tensor& other) const { return impl().storage == other.impl().storage; }

  /// Replaces the values, shape and dtype of this tensor for all its handles; modules use it to change their dtype.
  /// Hooks are kept. If shape and dtype are unchanged, so are the gradient and the tensor's role in graphs recorded
  /// earlier; a backward that saved the old values throws. Throws Error (graph) for the result of a recorded operation,
  /// (dtype) if gradients are required and the new values are integers or bool.
  void set_data(const Tensor& values);

  /// Throws Error (graph) for an undefined tensor.
  TensorImpl& impl() const {
    if (!impl_) refuse_undefined();
    return *impl_;
  }
  /// The shared state itself; null for an undefined tensor.
  const Ref<TensorImpl>& ref() const { return impl_; }

 private:
  void check_type(DType asked) const;
  [[noreturn]] static void refuse_undefined();
  [[noreturn]] void refuse_host_access() const;
  /// This tensor if it is on the CPU, else a copy there, without history.
  Tensor on_host() const;
  Number only_value() const;
  /// Throws Error (graph) if no other tensor shows the values.
  Tensor& check_observable(const char* operation);

  Ref<TensorImpl> impl_;
};

}  // namespace tape
