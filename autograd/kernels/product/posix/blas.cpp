#include "autograd/kernels/product/common/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "autograd/kernels/runtime/common/threads.h"
#include "base/error.h"

namespace tape::kernels {
namespace {

/// The OpenBLAS functions in use.
struct Blas {
  void* library;
  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
  decltype(&openblas_set_num_threads) set_num_threads;
  decltype(&openblas_get_config) config;
  decltype(&openblas_get_corename) core;
  decltype(&openblas_get_parallel) parallel;
  // From the OpenMP runtime that OpenBLAS is linked with; null in builds without OpenMP.
  decltype(&omp_get_max_threads) its_max_threads;
  decltype(&omp_set_num_threads) set_its_threads;
};

// OpenBLAS reserves 128 MB of address space as working memory for each of its threads when it is loaded, and for each
// concurrent caller, which it reuses. If an allocation fails, it retries forever. So the memory of our own threads is
// allocated before the first call, and for other threads the available space is checked before each call.

constexpr size_t kWorkingMemory = 128 + 1;  // in megabytes, including alignment

void check_address_space(size_t working_memories) {
  std::vector<void*> rooms;
  while (rooms.size() < working_memories) {
    void* const room = mmap(nullptr, kWorkingMemory << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) break;
    rooms.push_back(room);
  }
  for (void* room : rooms) munmap(room, kWorkingMemory << 20);
  if (rooms.size() < working_memories)
    raise(ErrorKind::out_of_memory, "OpenBLAS: needs {} MB of address space, more than this process may use",
          kWorkingMemory * working_memories);
}

/// Number of threads inside OpenBLAS, and number that have working memory.
std::atomic<int> callers{0}, provisioned_callers{0};

void enter() {
  const int others = callers.fetch_add(1);
  if (others < provisioned_callers.load()) return;
  try {
    check_address_space(static_cast<size_t>(1 + others - provisioned_callers.load()));
  } catch (...) {
    callers.fetch_sub(1);
    throw;
  }
}

/// Nesting depth of SingleThreadedBlas on this thread; the outermost counts as a caller.
thread_local int depth = 0;

/// A function by its usual name; OpenBLAS can be built with a prefix before every name.
void* find(void* library, const char* name) {
  void* const function = dlsym(library, (TAPEFORMER_OPENBLAS_PREFIX + std::string(name)).c_str());
  if (!function) raise(ErrorKind::io, "OpenBLAS: {} has no {}", TAPEFORMER_OPENBLAS_FILE, name);
  return function;
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(find(library, name));
}

Blas load() {
  constexpr size_t kLibraryCode = 1;  // its code, some 40 MB, counted as one working memory
  check_address_space(static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))) + kLibraryCode);
  // Prefer the library found at build time, else the system's.
  void* library = dlopen(TAPEFORMER_OPENBLAS_FILE, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) raise(ErrorKind::io, "OpenBLAS: cannot be loaded: {}", dlerror());
  Blas blas{};
  blas.library = library;
  find(library, "cblas_sgemm", blas.sgemm);
  find(library, "cblas_dgemm", blas.dgemm);
  find(library, "openblas_set_num_threads", blas.set_num_threads);
  find(library, "openblas_get_config", blas.config);
  find(library, "openblas_get_corename", blas.core);
  find(library, "openblas_get_parallel", blas.parallel);
  blas.its_max_threads = reinterpret_cast<decltype(&omp_get_max_threads)>(dlsym(library, "omp_get_max_threads"));
  blas.set_its_threads = reinterpret_cast<decltype(&omp_set_num_threads)>(dlsym(library, "omp_set_num_threads"));
  return blas;
}

/// Loads OpenBLAS on first use; a failed attempt is repeated on the next call.
const Blas& blas() {
  static const Blas loaded = load();
  return loaded;
}

/// Allows this many threads to call concurrently. If this OpenBLAS lacks the necessary functions, the available space
/// is checked at every call.
void make_working_memory(int threads) {
  void* const library = blas().library;
  const auto take = reinterpret_cast<void* (*)(int)>(dlsym(library, "blas_memory_alloc"));
  const auto give_back = reinterpret_cast<void (*)(void*)>(dlsym(library, "blas_memory_free"));
  if (!take || !give_back) return;
  check_address_space(static_cast<size_t>(threads));
  std::vector<void*> taken(static_cast<size_t>(threads));
  for (void*& memory : taken) memory = take(0);
  for (void* memory : taken) give_back(memory);
  provisioned_callers = threads;
}

template <class Function, class T>
void call(Function gemm, const Gemm& s, const T* a, const T* b, T* c) {
  gemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans, s.transpose_b ? CblasTrans : CblasNoTrans,
       static_cast<blasint>(s.m), static_cast<blasint>(s.n), static_cast<blasint>(s.k), 1, a,
       static_cast<blasint>(s.lda), b, static_cast<blasint>(s.ldb), s.accumulate ? 1 : 0, c,
       static_cast<blasint>(s.ldc));
}

/// OpenBLAS rejects a leading dimension below the row length even for a single row, where it is unused.
Gemm with_whole_rows(Gemm s) {
  const auto at_least = [](int64_t& leading, int64_t length, bool one_row) {
    if (one_row && leading < length) leading = length;
  };
  at_least(s.lda, s.transpose_a ? s.m : s.k, (s.transpose_a ? s.k : s.m) == 1);
  at_least(s.ldb, s.transpose_b ? s.k : s.n, (s.transpose_b ? s.n : s.k) == 1);
  at_least(s.ldc, s.n, s.m == 1);
  return s;
}
}  // namespace

void* blas_function(const char* name) { return find(blas().library, name); }

SingleThreadedBlas::SingleThreadedBlas() : before_(omp_get_max_threads()) {
  // Builds without OpenMP have one thread count per process.
  static std::once_flag once;
  std::call_once(once, [] {
    blas().set_num_threads(1);
    make_working_memory(num_threads());
  });
  if (depth == 0) enter();
  ++depth;
  if (blas().set_its_threads && blas().its_max_threads) {
    its_before_ = blas().its_max_threads();
    blas().set_its_threads(1);
  }
  omp_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  if (its_before_ > 0) blas().set_its_threads(its_before_);
  omp_set_num_threads(before_);
  if (--depth == 0) callers.fetch_sub(1);
}

void blas_gemm(const Gemm& shape, const float* a, const float* b, float* c) {
  const SingleThreadedBlas alone;
  call(blas().sgemm, with_whole_rows(shape), a, b, c);
}

void blas_gemm(const Gemm& shape, const double* a, const double* b, double* c) {
  const SingleThreadedBlas alone;
  call(blas().dgemm, with_whole_rows(shape), a, b, c);
}

BlasInfo blas_info() try {
  BlasInfo info;
  const std::string config = blas().config();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ... MAX_THREADS=64"
  const auto name_end = config.find(' ');
  info.version = config.substr(0, name_end == std::string::npos ? name_end : config.find(' ', name_end + 1));
  info.core = blas().core();
  const int threading = blas().parallel();
  info.threading = threading == OPENBLAS_OPENMP ? "openmp" : threading == OPENBLAS_THREAD ? "pthread" : "sequential";
  const char* core_type = std::getenv("OPENBLAS_CORETYPE");
  info.overridden = core_type && *core_type;
  return info;
} catch (const Error& error) {
  return {.version = "no OpenBLAS", .core = "none", .threading = error.what(), .overridden = false};
}

}  // namespace tape::kernels
