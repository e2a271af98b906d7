#pragma once

// Include this before any xtensor header of your own. Compiled as C++20, xtensor before 0.26 mistakes a dynamic shape
// (svector, four template arguments) for a std::array (two): evaluated expressions then have the wrong rank and write
// past their buffers (xtensor-stack/xtensor#1970, #1955). Debian 13 patches its 0.25 package, so the version does not
// tell whether a build is affected. The specialization below gives these shapes their C++17 type. It is constrained,
// hence preferred to xtensor's own where that exists, and changes nothing there.
//
// For such a shape, clang 19 finds two specializations of rebind_container in xtensor 0.24 and rejects both as
// ambiguous; the full specializations below resolve that.
#include <xtensor/xstorage.hpp>

namespace xt {
template <>
struct rebind_container<std::ptrdiff_t, svector<std::size_t>> {
  using type = svector<std::ptrdiff_t>;
};
template <>
struct rebind_container<std::size_t, svector<std::size_t>> {
  using type = svector<std::size_t>;
};
}  // namespace xt

#include <xtensor/xexpression_traits.hpp>

namespace xt::detail {
template <template <class, std::size_t, class, bool> class S, class X, std::size_t N, class A, bool I>
  requires true
struct xtype_for_shape<S<X, N, A, I>> {
  template <class T, layout_type L>
  using type = xarray<T, L>;
};
}  // namespace xt::detail

#include <type_traits>

static_assert(
    std::is_same_v<xt::detail::xtype_for_shape<xt::svector<std::size_t, 4>>::type<double, xt::layout_type::row_major>,
                   xt::xarray<double, xt::layout_type::row_major>>,
    "with this compiler, this xtensor evaluates expressions to the wrong rank in C++20: use xtensor 0.26 or later");
