#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blas_context.h"
#include "event.h"

namespace tape::cuda_device {

/// Runs several algorithms of a product to find the fastest one. The product reads its operands; what it writes goes to
/// memory of the library's pool that lasts as long as the measurement.
///
/// Each algorithm runs once before, since a driver loads kernels when they are first used. Then they run in turn, a few
/// times each, so that a clock that changes concerns all of them. Products that take less time than the host needs for
/// a call are repeated in a graph. The smallest time of an algorithm counts.
class BlasMeasurement : NonCopyable {
 public:
  /// A measurement of the plan's product, whose algorithm changes. Throws Error (out_of_memory) if the result has no
  /// space beside the operands. What is being collected for graphs is to be launched afterwards.
  BlasMeasurement(BlasContext& blas, BlasPlan& plan, const BlasOperands& operands,
                  std::span<const BlasHeuristic> algorithms);
  ~BlasMeasurement();

  /// Index of the fastest algorithm. An earlier one is preferred unless a later one takes 2% less time, so that noise
  /// does not decide; those that cuBLASLt refuses are skipped, and the result is 0 if it refuses all. Throws Error
  /// (device) if an earlier kernel failed.
  size_t fastest();
  /// Microseconds of the device that fastest() took, the time included in which it waited for the host.
  double microseconds() const { return warming_up_ + spent_; }

 private:
  struct Candidate;

  void warm_up();
  std::optional<double> time(Candidate& candidate);
  bool run(const Candidate& candidate);
  void select(const Candidate& candidate);
  void make_graph(Candidate& candidate, double microseconds);

  BlasContext& blas_;
  BlasPlan& plan_;
  BlasOperands operands_;
  std::vector<Candidate> candidates_;
  Event begin_{EventTiming::on}, start_{EventTiming::on}, end_{EventTiming::on};
  void* scratch_ = nullptr;
  int64_t scratch_bytes_ = 0, scratch_capacity_ = 0;
  double warming_up_ = 0, spent_ = 0;
};

}  // namespace tape::cuda_device
