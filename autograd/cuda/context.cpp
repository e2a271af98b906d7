#include "autograd/cuda/context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/blas_context.h"
#include "autograd/cuda/driver_calls.h"
#include "autograd/cuda/graph.h"
#include "autograd/cuda/late_checks.h"
#include "autograd/cuda/memory_pool.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

struct Contexts {
  std::mutex mutex;
  std::array<std::unique_ptr<Context>, kMostDevices> of;
};

Contexts& contexts() {
  static auto* all = new Contexts;  // tensors may be freed at any time during exit
  return *all;
}

thread_local int device_of_thread = 0;
std::atomic<int64_t> wait_count = 0;

/// The context that is current on this thread, valid for a device of a driver.
struct CurrentContext {
  uint32_t generation = 0;
  int device = -1;
  Context* context = nullptr;
};
thread_local CurrentContext current_context;

int attribute_of(const Driver& table, int attribute, int device) {
  int value = 0;
  check(table.device_get_attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

/// Whether an environment variable is 1.
bool is_on(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && std::string_view(value) == "1";
}

std::unique_ptr<Context> create_context(int index) {
  const Driver& table = driver();
  if (const std::string reason = unsuitable_device(index); !reason.empty())
    raise(ErrorKind::device, "cuda: {}", reason);
  auto created = std::make_unique<Context>();
  Context& c = *created;
  c.driver = &table;
  c.index = index;
  static_cast<DeviceProperties&>(c) = device_properties(index);
  c.shared_memory = attribute_of(table, attribute::shared_memory_optin, c.device);
  c.caching = !is_on("TAPE_CUDA_NO_MEMORY_CACHING");
  c.blocking = is_on("TAPE_CUDA_BLOCKING");
  const Result retained = table.primary_ctx_retain(&c.handle, c.device);
  if (retained == result::device_unavailable)
    raise(ErrorKind::device, "cuda: device {} ({}) is busy: another process uses it alone (its compute mode)", index,
          c.name);
  check(retained, "cuDevicePrimaryCtxRetain");
  check(table.ctx_set_current(c.handle), "cuCtxSetCurrent");
  constexpr unsigned kNonBlocking = 1;  // not ordered with the default stream, which nothing here uses
  check(table.stream_create(&c.stream, kNonBlocking), "cuStreamCreate");
  c.memory = std::make_unique<MemoryPool>(c);
  c.checks = std::make_unique<LateChecks>(c);
  c.shared_limits = std::make_unique<SharedMemoryLimits>();
  if (is_on("TAPE_CUDA_GRAPHS") && !c.blocking) {
    check(table.stream_create(&c.capture_stream, kNonBlocking), "cuStreamCreate");
    c.collector = std::make_unique<WorkCollector>(c);
  }
  return created;
}

bool is_lost_device(Result result) {
  // Unavailable, uncorrectable errors of memory or links, a destroyed context, unknown.
  constexpr std::array lost = {result::device_unavailable, 214, 220, 226, 709, 999};
  return std::find(lost.begin(), lost.end(), result) != lost.end();
}

}  // namespace

DeviceProperties device_properties(int index) {
  const Driver& table = driver();
  DeviceProperties found;
  check(table.device_get(&found.device, index), "cuDeviceGet");
  char name[256] = {};
  check(table.device_get_name(name, sizeof name, found.device), "cuDeviceGetName");
  found.name = name;
  found.capability = 10 * attribute_of(table, attribute::capability_major, found.device) +
                     attribute_of(table, attribute::capability_minor, found.device);
  found.multiprocessors = attribute_of(table, attribute::multiprocessors, found.device);
  size_t total = 0;
  check(table.device_total_mem(&total, found.device), "cuDeviceTotalMem");
  found.total_memory = static_cast<int64_t>(total);
  return found;
}

Context::~Context() = default;

Context& context() {
  CurrentContext& current = current_context;
  const uint32_t generation = driver_generation();
  if (current.generation == generation && current.device == device_of_thread) return *current.context;
  const int index = device_of_thread;
  const int count = device_count();
  driver();
  if (index < 0 || index >= std::min(count, kMostDevices))
    raise(ErrorKind::device, "cuda: no device {}; the number of devices is {}", index, count);
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  std::unique_ptr<Context>& place = all.of[static_cast<size_t>(index)];
  if (!place) place = create_context(index);
  check(place->driver->ctx_set_current(place->handle), "cuCtxSetCurrent");
  current = {generation, index, place.get()};
  return *place;
}

int current_device() { return device_of_thread; }

UseDevice::UseDevice(int index) : before_(device_of_thread) {
  device_of_thread = index;
  try {
    context();
  } catch (...) {
    device_of_thread = before_;
    throw;
  }
}
UseDevice::~UseDevice() {
  device_of_thread = before_;
  // The driver's current context may still be the other device's.
  current_context.device = -1;
}

void synchronize() { wait("synchronize"); }

void wait(const char* what) {
  ++wait_count;
  context().checks->wait(what);
}

int64_t waits() { return wait_count; }

std::string error_text(const Driver& table, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (table.get_error_name(result, &name) || !name) name = "unknown result";
  if (table.get_error_string(result, &text) || !text) return fmt::format("{} {}", name, result);
  return fmt::format("{} ({})", text, name);
}

bool is_kernel_failure(Result result) {
  // Illegal address, time limit, assertion, stack, instruction, alignment, address space, program counter, failure.
  constexpr std::array failures = {700, 702, 710, 714, 715, 716, 717, 718, 719};
  return std::find(failures.begin(), failures.end(), result) != failures.end();
}

void check(Result result, const char* what) {
  if (result == result::success) return;
  const std::string text = error_text(driver(), result);
  if (is_kernel_failure(result))
    raise(
        ErrorKind::device,
        "cuda: {}: an earlier kernel failed: {}; TAPE_CUDA_BLOCKING=1 names it. The device cannot be used any more in "
        "this process",
        what, text);
  if (is_lost_device(result))
    raise(
        ErrorKind::device,
        "cuda: {}: device {} was lost: {}; the Xid in the kernel log (dmesg) is the reason. The device cannot be used "
        "any more in this process",
        what, device_of_thread, text);
  raise(result == result::out_of_memory ? ErrorKind::out_of_memory : ErrorKind::device, "cuda: {}: {}", what, text);
}

void forget_contexts() {
  // Ended without the lock, since their checks may hold tensors, whose memory is looked up when it is freed.
  decltype(Contexts::of) ended;
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  std::swap(ended, all.of);
}

std::vector<int> indices_of_contexts() {
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  std::vector<int> indices;
  for (const auto& context : all.of)
    if (context) indices.push_back(context->index);
  return indices;
}

MemoryPool* pool_of(const void* address) {
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  for (auto& context : all.of)
    if (context && context->memory->contains(address)) return context->memory.get();
  return nullptr;
}

}  // namespace tape::cuda_device
