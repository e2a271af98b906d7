#pragma once

// What allocators tell AddressSanitizer about memory that they hand out.

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1  // as g++ defines it
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tape {

#if defined(__SANITIZE_ADDRESS__)
/// Whether this is a build with AddressSanitizer, from which a recycled block would hide mistakes.
inline constexpr bool kAddressSanitizer = true;
/// Any access to these bytes is reported, until they are allowed or freed.
inline void forbid_access(const void* begin, std::size_t bytes) { __asan_poison_memory_region(begin, bytes); }
inline void allow_access(const void* begin, std::size_t bytes) { __asan_unpoison_memory_region(begin, bytes); }
#else
inline constexpr bool kAddressSanitizer = false;
inline void forbid_access(const void*, std::size_t) {}
inline void allow_access(const void*, std::size_t) {}
#endif

}  // namespace tape
