#pragma once

#include <string_view>

namespace tape::kernels {

/// Instruction-set level that the vector kernels were compiled for (x86-64 psABI levels; `portable` elsewhere).
enum class Isa { portable, v2, v3, v4 };

std::string_view to_string(Isa isa);

/// The best level this CPU and operating system can run.
Isa supported_isa();

/// The level in use: supported_isa(), lowered by the environment variable TAPE_ISA (v2, v3 or v4) or by set_isa().
Isa isa();

/// Changes the level in use, for tests and benchmarks. Throws std::invalid_argument where the CPU cannot run it.
void set_isa(Isa isa);

}  // namespace tape::kernels

// Every vector kernel file is compiled once a level, with TAPE_LEVEL naming the namespace its table goes to
// (CMakeLists.txt lists the files). TAPE_KERNEL_TABLE declares the tables and the accessor that picks one:
//   template <class T> const Table<T>& name();   // T is float or double
#if defined(__x86_64__)
#define TAPE_KERNEL_TABLE(Table, name)                                                               \
  namespace v2 {                                                                                     \
  extern const Table<float> name##_f32;                                                              \
  extern const Table<double> name##_f64;                                                             \
  }                                                                                                  \
  namespace v3 {                                                                                     \
  extern const Table<float> name##_f32;                                                              \
  extern const Table<double> name##_f64;                                                             \
  }                                                                                                  \
  namespace v4 {                                                                                     \
  extern const Table<float> name##_f32;                                                              \
  extern const Table<double> name##_f64;                                                             \
  }                                                                                                  \
  template <class T>                                                                                 \
  const Table<T>& name() {                                                                           \
    const Isa level = isa();                                                                         \
    if constexpr (sizeof(T) == sizeof(float))                                                        \
      return level == Isa::v4 ? v4::name##_f32 : level == Isa::v3 ? v3::name##_f32 : v2::name##_f32; \
    else                                                                                             \
      return level == Isa::v4 ? v4::name##_f64 : level == Isa::v3 ? v3::name##_f64 : v2::name##_f64; \
  }
#else
#define TAPE_KERNEL_TABLE(Table, name)        \
  namespace portable {                        \
  extern const Table<float> name##_f32;       \
  extern const Table<double> name##_f64;      \
  }                                           \
  template <class T>                          \
  const Table<T>& name() {                    \
    if constexpr (sizeof(T) == sizeof(float)) \
      return portable::name##_f32;            \
    else                                      \
      return portable::name##_f64;            \
  }
#endif
