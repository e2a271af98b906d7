#include "autograd/kernels/product/common/bf16_backend.h"

#include <atomic>
#include <string>

#include <fmt/format.h>

#include "autograd/kernels/product/amx/tile_product.h"
#include "autograd/kernels/product/bf16/bf16_product.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tape {
namespace kernels {
namespace {

constexpr int kUnset = -1;
std::atomic<int> backend_set{kUnset};
std::atomic<const TileKernels*> tiles_set{nullptr};

#if defined(__x86_64__)
/// A process must request the 8 KiB that tiles add to the state of each of its threads.
bool tiles_permitted() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

// A build for other CPUs only (TAPEFORMER_KERNELS) has no such kernels.
#if defined(TAPE_ALL_KERNELS)
bool has_bf16_kernels() { return true; }
bool has_tile_kernels() { return true; }
#else
bool has_bf16_kernels() { return &bf16::product != nullptr; }
bool has_tile_kernels() { return &amx::product != nullptr; }
#endif

bool cpu_has_tiles() {
  constexpr unsigned kBf16 = 1U << 22, kTiles = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBf16) && (d & kTiles);
}
#endif

Bf16Backend detect() {
#if defined(__x86_64__)
  if (supported_isa() != Isa::v4 || !__builtin_cpu_supports("avx512bf16") || !has_bf16_kernels())
    return Bf16Backend::none;
  return has_tile_kernels() && cpu_has_tiles() && tiles_permitted() ? Bf16Backend::tiles : Bf16Backend::avx512;
#else
  return Bf16Backend::none;
#endif
}

Bf16Backend fastest_backend() {
  const Bf16Backend backend = supported_bf16_backend();
#if defined(__x86_64__)
  if (backend == Bf16Backend::avx512 && !__builtin_cpu_is("amd")) return Bf16Backend::none;
#endif
  return backend;
}

/// The tile kernels in use: the CPU's, or those set for tests.
const TileKernels& tiles() {
#if defined(__x86_64__)
  static constexpr TileKernels kAmx{amx::product, amx::packed_bytes, amx::pack, nullptr};
  if (!tile_kernels()) return kAmx;
#endif
  return *tile_kernels();
}
}  // namespace
}  // namespace kernels

std::string_view to_string(MatmulPrecision precision) {
  return precision == MatmulPrecision::highest ? "highest" : precision == MatmulPrecision::high ? "high" : "medium";
}

namespace kernels {

std::string_view to_string(Bf16Backend backend) {
  switch (backend) {
    case Bf16Backend::avx512:
      return "AVX512-BF16";
    case Bf16Backend::tiles:
      return "AMX tiles";
    case Bf16Backend::none:
      break;
  }
  return "none";
}

Bf16Backend supported_bf16_backend() {
  static const Bf16Backend backend = detect();
  return tile_kernels() ? Bf16Backend::tiles : backend;
}

Bf16Backend bf16_backend() {
  const int set = backend_set.load(std::memory_order_relaxed);
  const Bf16Backend backend = set == kUnset ? fastest_backend() : static_cast<Bf16Backend>(set);
  return tile_kernels() || isa() == Isa::v4 ? backend : Bf16Backend::none;
}

void set_bf16_backend(Bf16Backend backend) {
  if (backend > supported_bf16_backend())
    raise(ErrorKind::config, "set_bf16_backend: this CPU does not support {} (its best backend is {})",
          to_string(backend), to_string(supported_bf16_backend()));
  backend_set.store(static_cast<int>(backend), std::memory_order_relaxed);
}

void set_tile_kernels(const TileKernels* kernels) { tiles_set.store(kernels, std::memory_order_relaxed); }

const TileKernels* tile_kernels() { return tiles_set.load(std::memory_order_relaxed); }

MatmulPrecision precision_in_use(MatmulPrecision asked) {
  const Bf16Backend backend = bf16_backend();
  if (backend == Bf16Backend::none) return MatmulPrecision::highest;
  // Three products with AVX512-BF16 take longer than one in f32.
  return backend == Bf16Backend::avx512 && asked == MatmulPrecision::high ? MatmulPrecision::highest : asked;
}

std::string products_in_use(MatmulPrecision asked) {
  const MatmulPrecision used = precision_in_use(asked);
  if (used == MatmulPrecision::highest) return "f32";
  return fmt::format("{} on {}", used == MatmulPrecision::high ? "two bf16 per value" : "bf16",
                     to_string(bf16_backend()));
}

void bf16_product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c) {
#if defined(__x86_64__)
  if (bf16_backend() == Bf16Backend::avx512) return bf16::product(shape, a, b, bias, c);
#endif
  tiles().product(shape, parts_of(shape.precision), a, b, bias, c);
}

int64_t bf16_packed_bytes(const Gemm& shape) {
#if defined(__x86_64__)
  if (bf16_backend() == Bf16Backend::avx512) return bf16::packed_bytes(shape);
#endif
  return tiles().packed_bytes(shape, parts_of(shape.precision));
}

void bf16_pack(const Gemm& shape, const float* b, int64_t begin, int64_t end, void* to) {
#if defined(__x86_64__)
  if (bf16_backend() == Bf16Backend::avx512) return bf16::pack(shape, b, begin, end, to);
#endif
  tiles().pack(shape, parts_of(shape.precision), b, begin, end, to);
}

}  // namespace kernels
}  // namespace tape
