#pragma once

// Include this before any xtensor header of your own. xtensor before 0.26, compiled as C++20 by g++, takes the shape of
// a std::array for one of fixed size: evaluated expressions then have the wrong rank and write past their buffers
// (xtensor-stack/xtensor#1970, #1955). The specialisation below gives them back the shape they have in C++17.
#include <xtensor/xexpression_traits.hpp>

#if defined(__GNUC__) && !defined(__clang__) && __cplusplus > 201703L && XTENSOR_VERSION_MAJOR == 0 && \
    XTENSOR_VERSION_MINOR < 26
namespace xt::detail {
template <template <class, std::size_t, class, bool> class S, class X, std::size_t N, class A, bool I>
struct xtype_for_shape<S<X, N, A, I>> {
  template <class T, layout_type L>
  using type = xarray<T, L>;
};
}  // namespace xt::detail
#endif
