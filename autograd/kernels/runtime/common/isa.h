#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "../../../../base/device.h"
#include "../../../../base/half.h"

namespace tape::kernels {

/// Instruction-set level that the vector kernels were compiled for (x86-64 psABI levels; `portable` elsewhere).
enum class Isa { portable, v2, v3, v4 };

std::string_view to_string(Isa isa);

/// Whether this CPU and operating system support a level and this build contains its kernels.
bool has_level(Isa isa);

/// The best available level. Throws Error (config) if this build has no kernels for this CPU, because it was configured
/// with TAPEFORMER_KERNELS=native on another one.
Isa supported_isa();

/// The level in use: supported_isa(), lowered by the environment variable TAPE_ISA (v2, v3 or v4) or by set_isa().
Isa isa();

/// Sets the level, for tests and benchmarks. Throws Error (config) if it is not available (has_level()).
void set_isa(Isa isa);

/// CPU model as reported by the operating system, such as "AMD EPYC 9R14".
std::string cpu_name();

}  // namespace tape::kernels

// Every vector kernel file is compiled once per level, with TAPE_LEVEL as the namespace of its table
// (cmake/TapeformerKernels.cmake lists the files). TAPE_LEVEL_TABLE declares the tables and an accessor that returns
// the one of the level in use:
//   const Table& name();
// They are weak symbols, since a build may have only one level (TAPEFORMER_KERNELS=native). A static library has all
// levels, because a linker extracts nothing from an archive for weak symbols.
#if defined(TAPE_ALL_KERNELS)
#define TAPE_WEAK
#else
#define TAPE_WEAK [[gnu::weak]]
#endif
#if defined(__x86_64__)
#define TAPE_LEVEL_TABLE(Table, name)                                            \
  namespace v2 {                                                                 \
  TAPE_WEAK extern const Table name;                                             \
  }                                                                              \
  namespace v3 {                                                                 \
  TAPE_WEAK extern const Table name;                                             \
  }                                                                              \
  namespace v4 {                                                                 \
  TAPE_WEAK extern const Table name;                                             \
  }                                                                              \
  inline const Table& name() {                                                   \
    const Isa level = isa();                                                     \
    return level == Isa::v4 ? v4::name : level == Isa::v3 ? v3::name : v2::name; \
  }
#else
#define TAPE_LEVEL_TABLE(Table, name) \
  namespace portable {                \
  extern const Table name;            \
  }                                   \
  inline const Table& name() { return portable::name; }
#endif

namespace tape::kernels {

/// Where a kernel runs.
struct Target {
  Device device;
};

/// The same, with the value type T of a call.
template <class T>
struct Place : Target {};

/// Type of sums, statistics and weight gradients for values of T: T itself for float and double, float for halves.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace tape::kernels

// A second accessor of a table, which returns CUDA's (autograd/cuda/launch) for a target on a GPU:
//   const Table& name(const Target&);
#if defined(__wasm__)
#define TAPE_DEVICE_TABLE(Table, name) \
  inline const Table& name(const Target&) { return name(); }
#else
#define TAPE_DEVICE_TABLE(Table, name) \
  namespace cuda {                     \
  extern const Table name;             \
  }                                    \
  inline const Table& name(const Target& target) { return target.device.is_cuda() ? cuda::name : name(); }
#endif

// Accessors of a table per floating-point type, from those of name_f32 and name_f64; T is float or double:
//   template <class T> const Table<T>& name();  // the CPU's
#define TAPE_TABLE_BY_TYPE(Table, name)                                   \
  template <class T>                                                      \
  const Table<T>& name() {                                                \
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>); \
    if constexpr (std::is_same_v<T, float>)                               \
      return name##_f32();                                                \
    else                                                                  \
      return name##_f64();                                                \
  }
//   template <class T> const Table<T>& name(const Target&);
//   template <class T> const Table<T>& name(const Place<T>&);
#define TAPE_DEVICE_TABLES_BY_TYPE(Table, name)        \
  TAPE_DEVICE_TABLE(Table<float>, name##_f32)          \
  TAPE_DEVICE_TABLE(Table<double>, name##_f64)         \
  template <class T>                                   \
  const Table<T>& name(const Target& target) {         \
    if constexpr (std::is_same_v<T, float>)            \
      return name##_f32(target);                       \
    else                                               \
      return name##_f64(target);                       \
  }                                                    \
  template <class T>                                   \
  const Table<T>& name(const Place<T>& place) {        \
    return name<T>(static_cast<const Target&>(place)); \
  }

namespace tape::kernels {
/// Whether a target has kernels for bf16 (TAPE_BF16_TABLE).
inline bool has_bf16_kernels(const Target& target) { return target.device.is_cuda(); }
/// Whether operations add their gradients to those of other operations in place (BackwardContext::grad_sum()). The CPU
/// gains little from it, and its products would have other bits than with observers that look at each gradient.
inline bool adds_to_gradients(const Target& target) { return target.device.is_cuda(); }
/// Whether kernels may be launched as late as when their results are first used (autograd/ops/deferred). The CPU would
/// only compute the same later.
inline bool launches_late(const Target& target) { return target.device.is_cuda(); }
}  // namespace tape::kernels

// A table of kernels for bf16, which only CUDA has (the CPU computes bf16 in f32), to be declared after the tables of
// the other types. Without devices there is nothing to call:
//   template <> const Table<BFloat16>& name<BFloat16>(const Target&);
#if defined(__wasm__)
#define TAPE_BF16_TABLE(Table, name)
#else
#define TAPE_BF16_TABLE(Table, name)                            \
  namespace cuda {                                              \
  extern const Table<BFloat16> name##_bf16;                     \
  }                                                             \
  template <>                                                   \
  inline const Table<BFloat16>& name<BFloat16>(const Target&) { \
    return cuda::name##_bf16;                                   \
  }
#endif

// A table per type, compiled once per level, for the CPU only or for each device.
#define TAPE_CPU_KERNEL_TABLE(Table, name)    \
  TAPE_LEVEL_TABLE(Table<float>, name##_f32)  \
  TAPE_LEVEL_TABLE(Table<double>, name##_f64) \
  TAPE_TABLE_BY_TYPE(Table, name)
#define TAPE_KERNEL_TABLE(Table, name) \
  TAPE_CPU_KERNEL_TABLE(Table, name)   \
  TAPE_DEVICE_TABLES_BY_TYPE(Table, name)

// Defines the tables of a source file in its namespace; the argument is the content of both, for type T.
#define TAPE_DEFINE_TABLES(Table, name, ...)                  \
  namespace {                                                 \
  template <class T>                                          \
  constexpr Table<T> name##_table = {__VA_ARGS__};            \
  }                                                           \
  extern const Table<float> name##_f32 = name##_table<float>; \
  extern const Table<double> name##_f64 = name##_table<double>;

// The same for sources in a folder common/, which are compiled once for all levels, in namespace common. This one is
// for kernels that do not depend on a floating-point type:
//   const Table& name();
#define TAPE_COMMON_TABLE(Table, name) \
  namespace common {                   \
  extern const Table name;             \
  }                                    \
  inline const Table& name() { return common::name; }
// A table per type, for each device:
#define TAPE_COMMON_KERNEL_TABLE(Table, name)  \
  TAPE_COMMON_TABLE(Table<float>, name##_f32)  \
  TAPE_COMMON_TABLE(Table<double>, name##_f64) \
  TAPE_TABLE_BY_TYPE(Table, name)              \
  TAPE_DEVICE_TABLES_BY_TYPE(Table, name)
