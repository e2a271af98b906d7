#pragma once

#include <type_traits>

namespace tape::cuda_device {

template <class A, class B>
constexpr bool same_kind = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;

/// Whether two functions have parameters and results of the same sizes, pointers where the other one has pointers. Only
/// their types are needed, because the libraries are not linked.
template <class R, class... P, class S, class... Q>
constexpr bool matches(std::type_identity<R (*)(P...)>, std::type_identity<S (*)(Q...)>) {
  if constexpr (sizeof...(P) != sizeof...(Q)) {
    return false;
  } else {
    return same_kind<R, S> && (same_kind<P, Q> && ...);
  }
}

}  // namespace tape::cuda_device
