#include "autograd/cuda/blas_context.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/blas_measurement.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/graph.h"
#include "autograd/cuda/memory_pool.h"
#include "autograd/cuda/stream.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

constexpr size_t kMostPlans = 4096;
/// Algorithms to choose from; cuBLASLt sorts them by the time that it expects.
constexpr int kSuggestions = 8;
/// Products that come after this time of measuring take the first suggestion, so that a program whose sizes change all
/// the time does not go on measuring.
constexpr double kMostMeasuring = 4e6;  // microseconds

/// Largest power of two, up to 16, that divides an address; 0 for null. No kernel reads more than 16 bytes at once, and
/// a larger bound would make the algorithm depend on where a slice begins.
uint32_t alignment_of(const void* pointer) {
  if (!pointer) return 0;
  const auto address = reinterpret_cast<uintptr_t>(pointer) | 16;
  return static_cast<uint32_t>(address & -address);
}

std::string_view name_of(BlasType type) {
  switch (type) {
    case BlasType::f32:
      return "f32";
    case BlasType::f64:
      return "f64";
    case BlasType::f16:
      return "f16";
    case BlasType::bf16:
      return "bf16";
  }
  return "?";
}

/// "f32 [5, 7] x [7, 6]", row-major as tensors are.
std::string text_of(const BlasProduct& p) {
  const std::string batch = p.batch == 1 ? "" : fmt::format("{}, ", p.batch);
  return fmt::format("{} [{}{}, {}] x [{}{}, {}]", name_of(p.type), batch, p.columns, p.inner, batch, p.inner, p.rows);
}

std::string_view name_of(BlasCompute compute) {
  switch (compute) {
    case BlasCompute::f32:
      return "f32";
    case BlasCompute::f64:
      return "f64";
    case BlasCompute::tf32:
      return "tf32";
  }
  return "?";
}

/// All of a key in one line, column-major as cuBLASLt reads it.
std::string text_of(const BlasKey& key) {
  const BlasProduct& p = key.product;
  return fmt::format(
      "{} to {} in {}: {}{} {} x {} x {}{}, leading {} {} {}, batch {} by {} {} {} {}, epilogue {}, "
      "aligned {} {} {} {} {}:",
      name_of(p.type), name_of(p.result), name_of(p.compute), p.transpose_a ? 't' : 'n', p.transpose_b ? 't' : 'n',
      p.rows, p.columns, p.inner, p.accumulate ? " added" : "", p.lda, p.ldb, p.ldd, p.batch, p.stride_a, p.stride_b,
      p.stride_d, p.stride_bias, key.epilogue, key.alignment_a, key.alignment_b, key.alignment_c, key.alignment_d,
      key.alignment_bias);
}

/// Whether algorithms are measured: not by default on an emulated device, whose time means nothing.
bool measures_algorithms(const Driver& driver) {
  const char* const value = std::getenv("TAPE_CUDA_ALGORITHMS");
  if (!value || !*value) return !driver.find_function;
  const std::string_view choice = value;
  if (choice != "measure" && choice != "first")
    raise(ErrorKind::config, "cuda: TAPE_CUDA_ALGORITHMS must be measure or first, got {}", choice);
  return choice == "measure";
}

uint32_t epilogue_of(const BlasOperands& operands) {
  return operands.bias ? blas_epilogue::bias : operands.sums_of_b ? blas_epilogue::sums_of_b : blas_epilogue::none;
}
/// What the epilogue reads or writes, or null.
const void* bias_of(const BlasOperands& operands) { return operands.bias ? operands.bias : operands.sums_of_b; }

const void* c_of(const BlasOperands& operands) { return operands.c ? operands.c : operands.d; }

/// Guards the contexts' handles, plans and workspaces.
std::mutex& blas_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

size_t BlasKeyHash::operator()(const BlasKey& key) const {
  const BlasProduct& p = key.product;
  uint64_t hash = 0;
  const auto add = [&](auto value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15U + (hash >> 29);
  };
  for (const int64_t value :
       {p.rows, p.columns, p.inner, p.lda, p.ldb, p.ldd, p.batch, p.stride_a, p.stride_b, p.stride_d, p.stride_bias})
    add(value);
  add(static_cast<uint64_t>(p.result) << 16 | static_cast<uint64_t>(p.type) << 8 | static_cast<uint64_t>(p.compute));
  add(p.transpose_a << 2 | p.transpose_b << 1 | static_cast<int>(p.accumulate));
  add(key.epilogue);
  add(key.alignment_a << 20 | key.alignment_b << 15 | key.alignment_c << 10 | key.alignment_d << 5 |
      key.alignment_bias);
  return static_cast<size_t>(hash ^ hash >> 32);
}

BlasContext::BlasContext(Context& context, const Blas& table, uint32_t generation)
    : context_(context), table_(table), generation_(generation) {
  const bool measures = measures_algorithms(*context.driver);
  check(table_.create(&handle_), "cublasLtCreate");
  if (!measures) return;
  decisions_.emplace(context.name, static_cast<int64_t>(table.get_version()));
  constexpr unsigned kNonBlocking = 1;
  cuda_device::check(context.driver->stream_create(&measuring_stream_, kNonBlocking), "cuStreamCreate");
}

BlasContext::~BlasContext() {
  plans_.clear();
  table_.destroy(handle_);
  if (workspace_) context_.memory->free(workspace_, workspace_capacity_);
}

void BlasContext::check(BlasStatus status, const char* function) const {
  if (status == blas_status::success) return;
  raise(status == blas_status::alloc_failed ? ErrorKind::out_of_memory : ErrorKind::device, "cuda: {}: status {}",
        function, blas_status_text(table_, status));
}

void BlasContext::describe_matrix(BlasObject& layout, const BlasProduct& product, BlasType type, int64_t rows,
                                  int64_t columns, int64_t leading, int64_t stride) const {
  void* created = nullptr;
  check(table_.layout_create(&created, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading),
        "cublasLtMatrixLayoutCreate");
  layout.reset(created, table_.layout_destroy);
  if (product.batch == 1) return;
  constexpr const char* kSet = "cublasLtMatrixLayoutSetAttribute";
  set(table_.layout_set, layout, layout_attribute::batch_count, static_cast<int32_t>(product.batch), kSet);
  set(table_.layout_set, layout, layout_attribute::batch_stride, stride, kSet);
}

void BlasContext::describe(BlasPlan& plan, const BlasProduct& p, const BlasOperands& operands) const {
  void* created = nullptr;
  const BlasType scale = p.type == BlasType::f64 ? BlasType::f64 : BlasType::f32;
  check(table_.matmul_create(&created, p.compute, scale), "cublasLtMatmulDescCreate");
  plan.descriptor.reset(created, table_.matmul_destroy);
  constexpr const char* kSet = "cublasLtMatmulDescSetAttribute";
  const auto operation = [](bool transpose) { return transpose ? blas_operation::transpose : blas_operation::none; };
  set(table_.matmul_set, plan.descriptor, matmul_attribute::transpose_a, operation(p.transpose_a), kSet);
  set(table_.matmul_set, plan.descriptor, matmul_attribute::transpose_b, operation(p.transpose_b), kSet);
  if (const void* const bias = bias_of(operands)) {
    set(table_.matmul_set, plan.descriptor, matmul_attribute::epilogue, epilogue_of(operands), kSet);
    set(table_.matmul_set, plan.descriptor, matmul_attribute::bias_pointer, bias, kSet);
    if (p.batch > 1) set(table_.matmul_set, plan.descriptor, matmul_attribute::bias_batch_stride, p.stride_bias, kSet);
  }
  const auto matrix = [&](BlasObject& layout, BlasType type, bool transposed, int64_t rows, int64_t columns,
                          int64_t leading, int64_t stride) {
    describe_matrix(layout, p, type, transposed ? columns : rows, transposed ? rows : columns, leading, stride);
  };
  matrix(plan.a, p.type, p.transpose_a, p.rows, p.inner, p.lda, p.stride_a);
  matrix(plan.b, p.type, p.transpose_b, p.inner, p.columns, p.ldb, p.stride_b);
  matrix(plan.d, p.result, false, p.rows, p.columns, p.ldd, p.stride_d);
}

/// Whether a status means that cuBLASLt has no kernel for a product. NVIDIA's library has two for that; the emulated
/// one returns invalid_value for wrong descriptions only.
bool BlasContext::is_unsupported(BlasStatus status) const {
  const bool emulated = context_.driver->find_function;
  return status == blas_status::not_supported || (status == blas_status::invalid_value && !emulated);
}

std::vector<BlasHeuristic> BlasContext::suggestions(const BlasPlan& plan, int most) const {
  const BlasKey& key = plan.key;
  void* created = nullptr;
  check(table_.preference_create(&created), "cublasLtMatmulPreferenceCreate");
  BlasObject preference;
  preference.reset(created, table_.preference_destroy);
  const auto prefer = [&](int attribute, const auto& value) {
    set(table_.preference_set, preference, attribute, value, "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(preference_attribute::workspace_bytes, static_cast<uint64_t>(kBlasWorkspace));
  prefer(preference_attribute::alignment_a, key.alignment_a);
  prefer(preference_attribute::alignment_b, key.alignment_b);
  prefer(preference_attribute::alignment_c, key.alignment_c);
  // There is no preference for the bias, which kernels read in the vectors in which they write the result.
  prefer(preference_attribute::alignment_d,
         key.alignment_bias ? std::min(key.alignment_d, key.alignment_bias) : key.alignment_d);
  // Parts of sums in 16 bits would be rounded more than once.
  if (key.product.type == BlasType::f16 || key.product.type == BlasType::bf16)
    prefer(preference_attribute::reduction_schemes, reduction_scheme::in_compute_type);
  std::vector<BlasHeuristic> all(static_cast<size_t>(most));
  int count = 0;
  const BlasStatus status =
      table_.get_heuristic(handle_, plan.descriptor.get(), plan.a.get(), plan.b.get(), plan.d.get(), plan.d.get(),
                           preference.get(), most, all.data(), &count);
  if (is_unsupported(status)) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  all.resize(static_cast<size_t>(count));
  std::erase_if(all, [](const BlasHeuristic& suggested) { return suggested.state != blas_status::success; });
  return all;
}

/// Takes an algorithm that was decided on before, unless it does not fit the product or the device: what is in a file
/// may be damaged.
bool BlasContext::take_decision(BlasPlan& plan, const BlasAlgorithm& algorithm) const {
  BlasHeuristic checked = {};
  const BlasStatus status = table_.algorithm_check(handle_, plan.descriptor.get(), plan.a.get(), plan.b.get(),
                                                   plan.d.get(), plan.d.get(), &algorithm, &checked);
  if (status != blas_status::success || checked.state != blas_status::success ||
      checked.workspace_bytes > static_cast<size_t>(kBlasWorkspace))
    return false;
  checked.algorithm = algorithm;
  plan.take(checked);
  return true;
}

/// Index of the fastest algorithm, or nullopt if there is no time or memory to measure them.
std::optional<size_t> BlasContext::fastest(BlasPlan& plan, const BlasOperands& operands,
                                           const std::vector<BlasHeuristic>& algorithms) {
  if (measured_microseconds_ >= kMostMeasuring) return std::nullopt;
  // What was collected may still use the memory that the measurement gets, or write what it reads. Its own lack of
  // memory is not that of the measurement.
  flush_work(context_, ListEnd::other);
  std::optional<BlasMeasurement> measurement;
  try {
    measurement.emplace(*this, plan, operands, algorithms);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    return std::nullopt;
  }
  flush_work(context_, ListEnd::other);  // its allocations, of which an emulated device is informed
  const size_t best = measurement->fastest();
  measured_microseconds_ += measurement->microseconds();
  return best;
}

void BlasContext::choose_algorithm(BlasPlan& plan, const BlasOperands& operands) {
  const std::string product = decisions_ ? text_of(plan.key) : "";
  const auto decided = decisions_ ? decisions_->find(product) : std::nullopt;
  if (decided && take_decision(plan, *decided)) {
    ++choices_.from_file;
    return;
  }
  const std::vector<BlasHeuristic> algorithms = suggestions(plan, decisions_ ? kSuggestions : 1);
  if (algorithms.empty()) return;
  plan.take(algorithms.front());
  if (algorithms.size() == 1) return;
  const auto best = decisions_->full() ? std::nullopt : fastest(plan, operands, algorithms);
  ++(best ? choices_.measured : choices_.unmeasured);
  plan.take(algorithms[best.value_or(0)]);
  if (!decisions_->full()) decisions_->add(product, plan.algorithm);
}

std::shared_ptr<BlasPlan> BlasContext::create_plan(const BlasKey& key, const BlasOperands& operands) {
  auto plan = std::make_shared<BlasPlan>();
  plan->key = key;
  describe(*plan, key.product, operands);
  choose_algorithm(*plan, operands);
  return plan;
}

std::shared_ptr<BlasPlan> BlasContext::plan_of(const BlasProduct& product, const BlasOperands& operands) {
  const BlasKey key{product,
                    epilogue_of(operands),
                    alignment_of(operands.a),
                    alignment_of(operands.b),
                    alignment_of(c_of(operands)),
                    alignment_of(operands.d),
                    alignment_of(bias_of(operands))};
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    // The same algorithms are chosen again, and products that were collected keep their plans.
    if (plans_.size() >= kMostPlans) plans_.clear();
    found = plans_.emplace(key, create_plan(key, operands)).first;
  }
  const std::shared_ptr<BlasPlan>& plan = found->second;
  if (!plan->has_algorithm) return nullptr;
  if (plan->workspace_bytes > 0) allocate_workspace();
  return plan;
}

void BlasContext::allocate_workspace() {
  if (!workspace_) workspace_ = context_.memory->allocate(kBlasWorkspace, workspace_capacity_);
}

BlasStatus BlasContext::call(const BlasPlan& plan, const BlasOperands& operands, void* stream) const {
  if (const void* const bias = bias_of(operands))
    set(table_.matmul_set, plan.descriptor, matmul_attribute::bias_pointer, bias, "cublasLtMatmulDescSetAttribute");
  const auto multiply_as = [&](auto one) {
    const decltype(one) beta = plan.key.product.accumulate ? one : 0;
    return table_.matmul(handle_, plan.descriptor.get(), &one, operands.a, plan.a.get(), operands.b, plan.b.get(),
                         &beta, c_of(operands), plan.d.get(), operands.d, plan.d.get(), &plan.algorithm,
                         plan.workspace_bytes > 0 ? workspace_ : nullptr, static_cast<size_t>(plan.workspace_bytes),
                         stream);
  };
  return plan.key.product.type == BlasType::f64 ? multiply_as(1.0) : multiply_as(1.0F);
}

bool BlasContext::run(BlasPlan& plan, const BlasOperands& operands) {
  BlasStatus status = call(plan, operands, context_.stream);
  if (is_unsupported(status)) {
    for (const BlasHeuristic& suggested : suggestions(plan, kSuggestions)) {
      if (suggested.workspace_bytes > 0 && !workspace_) continue;  // a list of work that is launched cannot allocate
      plan.take(suggested);
      status = call(plan, operands, context_.stream);
      if (!is_unsupported(status)) break;
    }
    plan.has_algorithm = !is_unsupported(status);
    if (!plan.has_algorithm) return false;
  }
  if (status == blas_status::alloc_failed && !context_.collector) {
    context_.memory->trim();
    status = call(plan, operands, context_.stream);
  }
  if (status != blas_status::success)
    raise(ErrorKind::device, "cuda: cublasLtMatmul: status {}: {}", blas_status_text(table_, status),
          text_of(plan.key.product));
  return true;
}

BlasChoices blas_choices() {
  const std::lock_guard lock(blas_mutex());
  const Context& c = context();
  return c.blas ? c.blas->choices() : BlasChoices();
}

bool multiply(const BlasProduct& product, const BlasOperands& operands) {
  if (blas_unavailable()) return false;
  Context& c = context();
  std::unique_lock lock(blas_mutex());
  const uint32_t generation = blas_generation();
  if (!c.blas || c.blas->generation() != generation) {
    if (c.blas) flush_work(c, ListEnd::other);  // which may have products of the functions before
    c.blas.reset();
    c.blas = std::make_unique<BlasContext>(c, blas(), generation);
  }
  std::shared_ptr<BlasPlan> plan = c.blas->plan_of(product, operands);
  if (!plan) return false;
  if (c.collector) {
    lock.unlock();  // its own lock orders the calls
    c.collector->add_product(std::move(plan), operands);
  } else {
    if (!c.blas->run(*plan, operands)) return false;
    wait_if_blocking("cublasLtMatmul");
  }
  return true;
}

}  // namespace tape::cuda_device
