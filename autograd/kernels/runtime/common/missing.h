#pragma once

namespace tape::kernels {

/// Thrown by an entry of a kernel table that its device does not have.
struct NoKernel {};

/// Such an entry, of any type.
inline constexpr struct Missing {
  template <class R, class... A>
  using Entry = R (*)(A...);
  template <class R, class... A>
  constexpr operator Entry<R, A...>() const {
    return [](A...) -> R { throw NoKernel(); };
  }
} missing;

}  // namespace tape::kernels
