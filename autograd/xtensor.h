#pragma once

// Bridge to xtensor; the only header of this library that includes it. Include this header or autograd/xtensor_guard.h
// before any xtensor header.
#include "xtensor_guard.h"

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>

#include "create.h"

namespace tape {
namespace detail {

inline std::vector<size_t> xtensor_shape(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

/// Element type of the tensor made from an expression; integers of any width become int64_t.
template <class T>
using StoredAs = std::conditional_t<std::integral<T> && !std::same_as<T, bool>, int64_t, T>;

/// Containers whose buffer a tensor can take over.
template <class C>
struct IsContainer : std::false_type {};
template <class EC, xt::layout_type L, class SC, class Tag>
struct IsContainer<xt::xarray_container<EC, L, SC, Tag>> : std::true_type {};
template <class EC, std::size_t N, xt::layout_type L, class Tag>
struct IsContainer<xt::xtensor_container<EC, N, L, Tag>> : std::true_type {};

template <class Container>
Tensor take_over(Container&& container, const Shape& shape) {
  auto owner = std::make_unique<Container>(std::move(container));
  using T = typename Container::value_type;
  const Tensor taken = from_blob(owner->data(), shape, dtype_of<T>, owner.get(),
                                 [](void* kept) { delete static_cast<Container*>(kept); });
  owner.release();
  return taken;
}

}  // namespace detail

/// A view of the tensor's values as an xtensor expression, without a copy; valid while the tensor's storage lives.
/// Throws Error (dtype) if T is not the dtype's C++ type (DTypeOf in dtype.h).
template <class T>
auto as_xtensor(const Tensor& x) {
  return xt::adapt(x.data<T>(), static_cast<size_t>(x.numel()), xt::no_ownership(), detail::xtensor_shape(x));
}
/// The same for writing. Counts as one in-place write: a backward that saved the values will throw.
template <class T>
auto mutable_xtensor(Tensor& x) {
  return xt::adapt(x.mutable_data<T>(), static_cast<size_t>(x.numel()), xt::no_ownership(), detail::xtensor_shape(x));
}

template <class T>
auto Tensor::as_xtensor() const {
  return tape::as_xtensor<T>(*this);
}

/// A tensor with the values of an expression, evaluated once; float, double, bool or integers (as i64). The buffer of a
/// temporary or moved row-major xarray or xtensor is taken over without a copy.
///
/// Store a reduction with keep_dims in a named array before broadcasting it: e / xt::sum(e, {1}, xt::keep_dims) as one
/// expression gives wrong values in every xtensor version up to 0.27.1.
template <class E>
Tensor from_xtensor(E&& expression) {
  using Expression = std::remove_cvref_t<E>;
  using Value = std::remove_cv_t<typename Expression::value_type>;
  using T = detail::StoredAs<Value>;
  static_assert(std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bool> || std::same_as<T, int64_t>,
                "from_xtensor: values must be float, double, bool or integers");
  const auto& sizes = expression.shape();
  const Shape shape(std::vector<int64_t>(sizes.begin(), sizes.end()));
  if constexpr (detail::IsContainer<Expression>::value && std::is_rvalue_reference_v<E&&> &&
                !std::is_const_v<std::remove_reference_t<E>> && std::same_as<T, Value>) {
    if (expression.layout() == xt::layout_type::row_major) return detail::take_over(std::forward<E>(expression), shape);
  }
  Tensor result = empty(shape, dtype_of<T>);
  auto view = mutable_xtensor<T>(result);
  if constexpr (std::same_as<T, Value>) {
    xt::noalias(view) = expression;
  } else {
    xt::noalias(view) = xt::cast<T>(expression);
  }
  return result;
}

}  // namespace tape
