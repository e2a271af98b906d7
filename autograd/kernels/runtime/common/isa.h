#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace tape::kernels {

/// Instruction-set level that the vector kernels were compiled for (x86-64 psABI levels; `portable` elsewhere).
enum class Isa { portable, v2, v3, v4 };

std::string_view to_string(Isa isa);

/// Whether this CPU and operating system run a level, and this build has its kernels.
bool has_level(Isa isa);

/// The best level there is. Error (config) where this build has no kernels that the CPU runs: one that was
/// configured with TAPEFORMER_KERNELS=native, on another CPU.
Isa supported_isa();

/// The level in use: supported_isa(), lowered by the environment variable TAPE_ISA (v2, v3 or v4) or by set_isa().
Isa isa();

/// Changes the level in use, for tests and benchmarks. Error (config) where it is not there (has_level()).
void set_isa(Isa isa);

/// "AMD EPYC 9R14", as the operating system names it.
std::string cpu_name();

}  // namespace tape::kernels

// Every vector kernel file is compiled once a level, with TAPE_LEVEL naming the namespace its table goes to
// (cmake/TapeformerKernels.cmake lists the files). TAPE_LEVEL_TABLE declares the tables and the accessor that gives the
// one of the level in use:
//   const Table& name();
// They are weak, since a build may have one level alone (TAPEFORMER_KERNELS=native). An archive has all: a linker takes
// nothing from it for weak symbols.
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

/// Where a call computes, and in what: values of T.
template <class T>
struct Place {};

/// The type that values of T are summed in, and that statistics and the gradients of weights are in: T itself for float
/// and double, float for halves.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace tape::kernels

// The two accessors of a table of each floating-point type, by name_f32() and name_f64():
//   template <class T> const Table<T>& name();                  // T is float or double
//   template <class T> const Table<T>& name(const Place<T>&);
#define TAPE_TABLE_BY_TYPE(Table, name)                                   \
  template <class T>                                                      \
  const Table<T>& name() {                                                \
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>); \
    if constexpr (std::is_same_v<T, float>)                               \
      return name##_f32();                                                \
    else                                                                  \
      return name##_f64();                                                \
  }                                                                       \
  template <class T>                                                      \
  const Table<T>& name(const Place<T>&) {                                 \
    return name<T>();                                                     \
  }

// A table of each type, compiled once a level.
#define TAPE_KERNEL_TABLE(Table, name)        \
  TAPE_LEVEL_TABLE(Table<float>, name##_f32)  \
  TAPE_LEVEL_TABLE(Table<double>, name##_f64) \
  TAPE_TABLE_BY_TYPE(Table, name)

// Fills the tables of a source, in its namespace: what is in both of them, for the type T.
#define TAPE_DEFINE_TABLES(Table, name, ...)                  \
  namespace {                                                 \
  template <class T>                                          \
  constexpr Table<T> name##_table = {__VA_ARGS__};            \
  }                                                           \
  extern const Table<float> name##_f32 = name##_table<float>; \
  extern const Table<double> name##_f64 = name##_table<double>;

// The same for sources in a folder common/, which are compiled once for all levels, into namespace common. This one is
// for kernels that do not depend on a floating-point type:
//   const Table& name();
#define TAPE_COMMON_TABLE(Table, name) \
  namespace common {                   \
  extern const Table name;             \
  }                                    \
  inline const Table& name() { return common::name; }
// A table of each type:
#define TAPE_COMMON_KERNEL_TABLE(Table, name)  \
  TAPE_COMMON_TABLE(Table<float>, name##_f32)  \
  TAPE_COMMON_TABLE(Table<double>, name##_f64) \
  TAPE_TABLE_BY_TYPE(Table, name)
