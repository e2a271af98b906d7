#include "autograd/kernels/runtime/common/isa.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tape::kernels {

#if defined(__x86_64__)
// Defined by the level_present.cpp of each level in the build.
namespace v2 {
TAPE_WEAK extern const bool level_present;
}
namespace v3 {
TAPE_WEAK extern const bool level_present;
}
namespace v4 {
TAPE_WEAK extern const bool level_present;
}
#endif

namespace {

constexpr int kUnset = -1;
std::atomic<int> level_in_use{kUnset};

#if defined(__x86_64__)
/// MOVBE, F16C and LZCNT, which clang 16 cannot query by name.
bool has_the_rest_of_v3() {
  constexpr unsigned kMovbe = 1U << 22, kF16c = 1U << 29, kLzcnt = 1U << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kMovbe) || !(c & kF16c)) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & kLzcnt);
}
#endif

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma") && has_the_rest_of_v3()))
    return Isa::v2;
  if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")))
    return Isa::v3;
  return Isa::v4;
#else
  return Isa::portable;
#endif
}

/// Whether the build contains the kernels of a level.
bool is_built([[maybe_unused]] Isa level) {
#if defined(TAPE_ALL_KERNELS)
  return true;
#elif defined(__x86_64__)
  switch (level) {
    case Isa::v2:
      return &v2::level_present != nullptr;
    case Isa::v3:
      return &v3::level_present != nullptr;
    case Isa::v4:
      return &v4::level_present != nullptr;
    case Isa::portable:
      break;
  }
  return false;
#else
  return level == Isa::portable;
#endif
}

Isa cpu_level() {
  static const Isa level = detect();
  return level;
}

constexpr const char* kConfigureAll = "configure with -D TAPEFORMER_KERNELS=all";

Isa from_environment() {
  const char* value = std::getenv("TAPE_ISA");
  if (!value || !*value) return supported_isa();
  for (const Isa level : {Isa::portable, Isa::v2, Isa::v3, Isa::v4}) {
    if (to_string(level) != value) continue;
    if (has_level(level)) return level;
    if (level <= cpu_level() && level != Isa::portable)
      raise(ErrorKind::config, "TAPE_ISA: this build has no kernels of {} ({})", value, kConfigureAll);
    raise(ErrorKind::config, "TAPE_ISA: this CPU cannot run {} (its best level is {})", value, to_string(cpu_level()));
  }
  raise(ErrorKind::config, "TAPE_ISA: \"{}\" is not a level (v2, v3, v4 or portable)", value);
}
}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::v2:
      return "v2";
    case Isa::v3:
      return "v3";
    case Isa::v4:
      return "v4";
    case Isa::portable:
      break;
  }
  return "portable";
}

bool has_level(Isa level) {
  return level <= cpu_level() && (level == Isa::portable) == (cpu_level() == Isa::portable) && is_built(level);
}

Isa supported_isa() {
  for (const Isa level : {Isa::v4, Isa::v3, Isa::v2, Isa::portable})
    if (has_level(level)) return level;
  raise(ErrorKind::config, "this build has no kernels for this CPU, whose best level is {} ({})",
        to_string(cpu_level()), kConfigureAll);
}

Isa isa() {
  int level = level_in_use.load(std::memory_order_relaxed);
  if (level == kUnset) {
    level = static_cast<int>(from_environment());
    level_in_use.store(level, std::memory_order_relaxed);
  }
  return static_cast<Isa>(level);
}

void set_isa(Isa level) {
  if (!has_level(level))
    raise(ErrorKind::config, "set_isa: {} is not available (the best level is {})", to_string(level),
          to_string(supported_isa()));
  level_in_use.store(static_cast<int>(level), std::memory_order_relaxed);
}

}  // namespace tape::kernels
