// What a training step on a GPU costs the host: the time of a step of the models of `tapeformer bench train-step` with
// a driver and a cuBLASLt whose functions do nothing, one by one and as a graph, in f32 and with bf16 activations.
// Needs no GPU. The functions of a real driver take their own time on top, which this program counts the calls of.
//
//   bench_cuda_host_time [SECONDS [MODEL]]    with a model: also the number of launches of each kernel
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "autograd/cuda/blas.h"
#include "autograd/cuda/driver.h"
#include "autograd/cuda/graph.h"
#include "autograd/tape/scope.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "tools/bench/bench_model.h"

namespace {

using namespace tape;
using namespace tape::cuda_device;

struct Calls {
  int64_t kernels = 0, products = 0, copies = 0, fills = 0, graphs = 0, changed_nodes = 0;
};
Calls calls;
/// Launches of each kernel. Its function is the address of the name.
std::map<std::string, int64_t> launches;

/// A number that is not null, for handles and addresses.
template <class T>
Result give(T** handle) {
  static char thing;
  *handle = reinterpret_cast<T*>(&thing);
  return 0;
}

Driver idle_driver() {
  Driver d{};
  d.init = [](unsigned) { return 0; };
  d.driver_get_version = [](int* version) { return *version = 13000, 0; };
  d.get_error_name = d.get_error_string = [](Result, const char** text) { return *text = "", 0; };
  d.device_get_count = [](int* count) { return *count = 1, 0; };
  d.device_get = [](int* device, int index) { return *device = index, 0; };
  d.device_get_name = [](char* name, int, int) { return *name = 0, 0; };
  d.device_get_attribute = [](int* value, int name, int) {
    *value = name == attribute::multiprocessors       ? 132
             : name == attribute::capability_major    ? 9
             : name == attribute::shared_memory_optin ? 227 << 10
             : name == attribute::virtual_memory      ? 1
                                                      : 0;
    return 0;
  };
  d.device_total_mem = [](size_t* bytes, int) { return *bytes = size_t{1} << 36, 0; };
  d.primary_ctx_retain = [](void** context, int) { return give(context); };
  d.ctx_set_current = [](void*) { return 0; };
  d.stream_create = [](void** stream, unsigned) { return give(stream); };
  d.stream_synchronize = [](void*) { return 0; };
  d.stream_begin_capture = [](void*, int) { return 0; };
  d.stream_end_capture = [](void*, void** graph) { return give(graph); };
  d.event_create = [](void** event, unsigned) { return give(event); };
  d.event_record = [](void*, void*) { return 0; };
  d.event_elapsed_time = [](float* milliseconds, void*, void*) { return *milliseconds = 0, 0; };
  d.event_synchronize = d.event_query = d.event_destroy = [](void*) { return 0; };
  d.mem_get_info = [](size_t* free_bytes, size_t* total) { return *free_bytes = *total = size_t{1} << 36, 0; };
  d.mem_get_allocation_granularity = [](size_t* bytes, const AllocationProperties*, int) {
    return *bytes = size_t{2} << 20, 0;
  };
  d.mem_address_reserve = [](DevicePointer* address, size_t, size_t, DevicePointer, unsigned long long) {
    return *address = DevicePointer{1} << 40, 0;
  };
  d.mem_create = [](unsigned long long* handle, size_t, const AllocationProperties*, unsigned long long) {
    return *handle = 1, 0;
  };
  d.mem_map = [](DevicePointer, size_t, size_t, unsigned long long, unsigned long long) { return 0; };
  d.mem_set_access = [](DevicePointer, size_t, const AccessDescription*, size_t) { return 0; };
  d.mem_unmap = [](DevicePointer, size_t) { return 0; };
  d.mem_release = [](unsigned long long) { return 0; };
  d.mem_alloc = [](DevicePointer* address, size_t bytes) {
    static DevicePointer next = DevicePointer{1} << 40;
    *address = next;
    next += (bytes + 511) / 512 * 512;
    return 0;
  };
  d.mem_free = [](DevicePointer) { return 0; };
  d.mem_host_alloc = [](void** pointer, size_t bytes, unsigned) {
    return *pointer = std::calloc(1, bytes), *pointer ? result::success : result::out_of_memory;
  };
  d.mem_free_host = [](void* pointer) { return std::free(pointer), 0; };
  d.memcpy_to_device = [](DevicePointer, const void*, size_t, void*) { return ++calls.copies, 0; };
  d.memcpy_to_host = [](void* to, DevicePointer, size_t bytes, void*) {
    // A loss and a norm of 1, since others have the host look for their cause; checks have found nothing.
    constexpr float kLoss = 1;
    constexpr double kNorm = 1;
    if (bytes == sizeof kLoss) std::memcpy(to, &kLoss, bytes);
    if (bytes == sizeof kNorm) std::memcpy(to, &kNorm, bytes);
    return ++calls.copies, 0;
  };
  d.memcpy_on_device = [](DevicePointer, DevicePointer, size_t, void*) { return ++calls.copies, 0; };
  d.memset_bytes = [](DevicePointer, unsigned char, size_t, void*) { return ++calls.fills, 0; };
  d.func_set_attribute = [](void*, int, int) { return 0; };
  d.launch_kernel = [](void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                       void**, void**) {
    ++launches.find(static_cast<const char*>(function))->second;
    return ++calls.kernels, 0;
  };
  d.graph_create = [](void** graph, unsigned) { return give(graph); };
  d.graph_add_kernel = [](void** node, void*, void* const*, size_t, const KernelNode*) { return give(node); };
  d.graph_add_copy = [](void** node, void*, void* const*, size_t, const CopyNode*, void*) { return give(node); };
  d.graph_add_fill = [](void** node, void*, void* const*, size_t, const FillNode*, void*) { return give(node); };
  d.graph_add_child = [](void** node, void*, void* const*, size_t, void*) { return give(node); };
  d.graph_instantiate = [](void** executable, void*, unsigned long long) { return give(executable); };
  d.graph_set_kernel = [](void*, void*, const KernelNode*) { return ++calls.changed_nodes, 0; };
  d.graph_set_copy = [](void*, void*, const CopyNode*, void*) { return ++calls.changed_nodes, 0; };
  d.graph_set_fill = [](void*, void*, const FillNode*, void*) { return ++calls.changed_nodes, 0; };
  d.graph_set_child = [](void*, void*, void*) { return ++calls.changed_nodes, 0; };
  d.graph_upload = [](void*, void*) { return 0; };
  d.graph_launch = [](void*, void*) { return ++calls.graphs, 0; };
  d.graph_destroy = d.graph_exec_destroy = [](void*) { return 0; };
  d.find_function = [](void** function, const char* name) {
    *function = const_cast<char*>(launches.try_emplace(name).first->first.c_str());
    return 0;
  };
  return d;
}

Blas idle_blas() {
  Blas b{};
  b.get_version = [] { return size_t{130000}; };
  b.get_status_name = [](BlasStatus) { return ""; };
  b.create = b.preference_create = [](void** handle) { return give(handle); };
  b.destroy = b.matmul_destroy = b.layout_destroy = b.preference_destroy = [](void*) { return 0; };
  b.matmul_create = [](void** descriptor, BlasCompute, BlasType) { return give(descriptor); };
  b.matmul_set = b.layout_set = b.preference_set = [](void*, int, const void*, size_t) { return 0; };
  b.layout_create = [](void** layout, BlasType, uint64_t, uint64_t, int64_t) { return give(layout); };
  b.get_heuristic = [](void*, void*, void*, void*, void*, void*, void*, int, BlasHeuristic* results, int* count) {
    *results = {};
    return *count = 1, 0;
  };
  b.matmul = [](void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                void*, void*, const BlasAlgorithm*, void*, size_t, void*) { return ++calls.products, 0; };
  return b;
}

/// As compare.py measures it.
struct Config {
  const char* name;
  double dropout;
};
constexpr Config kConfigs[] = {{"gpt-nano", 0}, {"tiny", 0.3}, {"gpt-char", 0.2}, {"base", 0.1}, {"gpt-124m", 0}};

struct Step {
  double smallest, median;  // microseconds
  int64_t peak_bytes;
  Calls calls;
};

Step time_steps(const Config& config, double seconds, MatmulPrecision precision) {
  const DeviceScope on_device(cuda);
  const MatmulPrecisionScope scope(precision);
  const tools::BenchModel model = tools::make_bench_model(config.name, config.dropout);
  const Tensors parameters = model.module->parameters();
  optim::AdamW optimizer(parameters, {.lr = 1e-3});
  std::vector<double> times;
  double all = 0;
  while (all < seconds * 1e6 || times.size() < 20) {
    calls = {};
    for (auto& [kernel, count] : launches) count = 0;
    if (times.size() == 5) reset_peak_memory(cuda);
    const auto start = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    const Tensor loss = model.loss();
    loss.backward();
    optim::clip_grad_norm(parameters, 1.0);
    optimizer.step();
    static_cast<void>(loss.item());
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    all += times.back();
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], memory_stats(cuda).peak_bytes, calls};
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
  const std::string only = count > 2 ? arguments[2] : "";
  const Driver driver_table = idle_driver();
  const Blas blas_table = idle_blas();
  fmt::print("{:<30} {:>8} {:>8} {:>8}   calls of the driver in a step\n", "", "min us", "median", "peak GB");
  for (const Config& config : kConfigs) {
    if (!only.empty() && only != config.name) continue;
    for (const MatmulPrecision precision : {MatmulPrecision::high, MatmulPrecision::medium})
      for (const bool graphs : {false, true}) {
        setenv("TAPE_CUDA_ALGORITHMS", "first", 1);  // a driver that does nothing has no time to measure
        setenv("TAPE_CUDA_GRAPHS", graphs ? "1" : "0", 1);
        install(&driver_table);
        install_blas(&blas_table);
        const Step step = time_steps(config, seconds, precision);
        const Calls& c = step.calls;
        fmt::print(
            "{:<30} {:8.0f} {:8.0f} {:8.2f}   {} kernels, {} products, {} copies, {} fills, {} graphs, {} changed\n",
            fmt::format("{}, {}, {}", config.name, to_string(precision), graphs ? "as graphs" : "one by one"),
            step.smallest, step.median, static_cast<double>(step.peak_bytes) * 1e-9, c.kernels, c.products, c.copies,
            c.fills, c.graphs, c.changed_nodes);
        if (only.empty() || graphs) continue;
        for (const auto& [kernel, launched] : launches)
          if (launched > 0) fmt::print("  {:5}  {}\n", launched, kernel);
      }
  }
  install_blas(nullptr);
  install(nullptr);
}
