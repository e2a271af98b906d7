#include "autograd/cuda/blas_measurement.h"

#include <algorithm>
#include <limits>

#include "autograd/cuda/captured_products.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/driver_calls.h"
#include "autograd/cuda/memory_pool.h"

namespace tape::cuda_device {
namespace {

constexpr int kRounds = 4;
/// Measuring a product ends after this time, so only a few algorithms of the largest products are run.
constexpr double kMostMicroseconds = 50'000;
/// For first runs, during which the device waits for the host to load kernels. Algorithms that are left then are not
/// measured.
constexpr double kMostWarmingUp = 500'000;
/// Shorter products are repeated, in a graph since a call takes the host some 7 microseconds.
constexpr double kShortMicroseconds = 100;
constexpr double kMostRuns = 16;
/// What a later algorithm may take of an earlier one's time.
constexpr double kFaster = 0.98;

int64_t bytes_of(BlasType type) { return type == BlasType::f64 ? 8 : type == BlasType::f32 ? 4 : 2; }

int64_t bytes_of_result(const BlasProduct& p) {
  return ((p.batch - 1) * p.stride_d + (p.columns - 1) * p.ldd + p.rows) * bytes_of(p.result);
}

}  // namespace

/// An algorithm, and its calls as a graph.
struct BlasMeasurement::Candidate {
  const BlasHeuristic* algorithm;
  double microseconds = std::numeric_limits<double>::infinity();  // the smallest time so far
  bool refused = false;
  void* graph = nullptr;
  int runs = 1;  // of the product in the graph
};

BlasMeasurement::BlasMeasurement(BlasContext& blas, BlasPlan& plan, const BlasOperands& operands,
                                 std::span<const BlasHeuristic> algorithms)
    : blas_(blas), plan_(plan), operands_(operands) {
  for (const BlasHeuristic& algorithm : algorithms) candidates_.push_back({&algorithm});
  const bool needs_workspace =
      std::any_of(algorithms.begin(), algorithms.end(), [](const auto& a) { return a.workspace_bytes > 0; });
  if (needs_workspace) blas_.allocate_workspace();
  constexpr int64_t kAlignment = 256;
  const int64_t sums = (bytes_of_result(plan.key.product) + kAlignment - 1) / kAlignment * kAlignment;
  scratch_bytes_ = sums + (operands.sums_of_b ? plan.key.product.columns * bytes_of(plan.key.product.result) : 0);
  scratch_ = blas_.context().memory->allocate(scratch_bytes_, scratch_capacity_);
  operands_.d = scratch_;
  if (operands.sums_of_b) operands_.sums_of_b = static_cast<char*>(scratch_) + sums;
}

BlasMeasurement::~BlasMeasurement() {
  const Context& c = blas_.context();
  for (const Candidate& candidate : candidates_)
    if (candidate.graph) c.driver->graph_exec_destroy(candidate.graph);
  c.memory->free(scratch_, scratch_capacity_);
}

void BlasMeasurement::select(const Candidate& candidate) {
  plan_.algorithm = candidate.algorithm->algorithm;
  plan_.workspace_bytes = static_cast<int64_t>(candidate.algorithm->workspace_bytes);
}

bool BlasMeasurement::run(const Candidate& candidate) {
  const Context& c = blas_.context();
  if (candidate.graph) return c.driver->graph_launch(candidate.graph, c.stream) == result::success;
  return blas_.call(plan_, operands_, c.stream) == blas_status::success;
}

/// Runs each algorithm once, and waits. Those that cuBLASLt refuses, or for which no time is left, are not measured.
void BlasMeasurement::warm_up() {
  for (Candidate& candidate : candidates_) {
    candidate.refused = warming_up_ >= kMostWarmingUp;
    if (candidate.refused) continue;
    select(candidate);
    begin_.record_launched();
    candidate.refused = !run(candidate);
    end_.record_launched();
    end_.wait();
    warming_up_ += 1e6 * end_.seconds_since(begin_);
  }
}

/// Microseconds of a product, or nullopt if cuBLASLt refuses it. Another run goes first, during which the host calls
/// the next one.
std::optional<double> BlasMeasurement::time(Candidate& candidate) {
  select(candidate);
  begin_.record_launched();
  if (!run(candidate)) return std::nullopt;
  start_.record_launched();
  if (!run(candidate)) return std::nullopt;
  end_.record_launched();
  end_.wait();
  spent_ += 1e6 * end_.seconds_since(begin_);
  return 1e6 * end_.seconds_since(start_) / candidate.runs;
}

void BlasMeasurement::make_graph(Candidate& candidate, double microseconds) {
  const Context& c = blas_.context();
  const int runs = static_cast<int>(std::clamp(kShortMicroseconds / microseconds, 1.0, kMostRuns));
  const CapturedProducts captured(c, blas_.measuring_stream(), plan_, operands_, runs);
  if (!captured.graph() || c.driver->graph_instantiate(&candidate.graph, captured.graph(), 0) != result::success) {
    candidate.graph = nullptr;  // it is called one by one, which takes as long as the host needs
    return;
  }
  candidate.runs = runs;
}

size_t BlasMeasurement::fastest() {
  if (plan_.key.product.accumulate)
    fill_now(blas_.context(), reinterpret_cast<DevicePointer>(scratch_), 0, static_cast<size_t>(scratch_bytes_));
  warm_up();
  for (int round = 0; round < kRounds; ++round)
    for (Candidate& candidate : candidates_) {
      if (candidate.refused || spent_ >= kMostMicroseconds) continue;
      const std::optional<double> microseconds = time(candidate);
      candidate.refused = !microseconds;
      if (!microseconds) continue;
      // Before the first run in a graph, it was the time of the host's calls.
      const bool counts_alone = round == 1 && candidate.graph;
      candidate.microseconds = counts_alone ? *microseconds : std::min(candidate.microseconds, *microseconds);
      if (round == 0 && *microseconds < kShortMicroseconds) make_graph(candidate, *microseconds);
    }
  size_t best = 0;
  for (size_t i = 1; i < candidates_.size(); ++i)
    if (candidates_[i].microseconds < kFaster * candidates_[best].microseconds) best = i;
  return best;
}

}  // namespace tape::cuda_device
