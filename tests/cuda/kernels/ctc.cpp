#include "autograd/kernels/loss/ctc.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaCtc : public KernelTest<T> {
 protected:
  /// Sequences of different lengths, one without frames, some too short for their target, whose loss is infinite.
  void check(int64_t frames, int64_t sequences, int64_t classes, int64_t labels, int64_t blank, bool zero_infinity) {
    SCOPED_TRACE(fmt::format("T {}, N {}, C {}, S {}, blank {}", frames, sequences, classes, labels, blank));
    std::mt19937 engine(5);
    Array<int64_t> targets(static_cast<size_t>(sequences * labels)), input_lengths, target_lengths;
    for (int64_t& label : targets) {
      label = static_cast<int64_t>(engine() % static_cast<size_t>(classes - 1));
      if (label >= blank) ++label;
    }
    for (int64_t n = 0; n < sequences; ++n) {
      input_lengths.push_back(n == 1 ? 0 : std::max<int64_t>(0, frames - n % 3));
      target_lengths.push_back(n == 1 || n == 2 ? 0 : n == 3 ? labels : n * 5 % (labels + 1));
    }
    Array<T> log_probs = random_values<T>(frames * sequences * classes, 6);
    for (size_t i = 0; i < log_probs.size(); ++i)
      log_probs[i] = i % 17 == 16 ? static_cast<T>(-kInf) : log_probs[i] - 3;
    const Array<T> dloss = random_values<T>(sequences, 7);
    CtcProblem problem = {.T = frames,
                          .N = sequences,
                          .C = classes,
                          .S = labels,
                          .targets = targets.data(),
                          .input_lengths = input_lengths.data(),
                          .target_lengths = target_lengths.data(),
                          .blank = blank,
                          .zero_infinity = zero_infinity};
    const size_t states = static_cast<size_t>(sequences * frames * (2 * labels + 1));
    Array<T> alpha(states, T(7)), loss(dloss.size()), shown(loss), gradient(log_probs.size(), T(7));
    ctc<T>().forward(problem, log_probs.data(), alpha.data(), loss.data(), shown.data());
    ctc<T>().backward(problem, log_probs.data(), alpha.data(), loss.data(), dloss.data(), gradient.data());
    const auto result = this->on_device([&] {
      const DeviceArray<int64_t> labels_there(targets), inputs(input_lengths), outputs(target_lengths);
      CtcProblem there = problem;
      there.targets = labels_there.constant();
      there.input_lengths = inputs.constant();
      there.target_lengths = outputs.constant();
      const DeviceArray<T> scores(log_probs), g(dloss), paths(Array<T>(states, T(7))), first(loss.size()),
          second(loss.size()), to(log_probs.size());
      const CtcKernels<T>& kernels = ctc<T>(kOnDevice);
      kernels.forward(there, scores.constant(), nullptr, first.get(), second.get());
      expect_close(first.values(), loss, "loss without alpha");
      kernels.forward(there, scores.constant(), paths.get(), first.get(), second.get());
      expect_close(paths.values(), alpha, "alpha", 8);
      expect_close(first.values(), loss, "loss");
      expect_close(second.values(), shown, "shown");
      kernels.backward(there, scores.constant(), paths.constant(), first.constant(), g.constant(), to.get());
      return to.values();
    });
    expect_close(result, gradient, "gradient", 1, std::is_same_v<T, float> ? 4e-5 : 1e-12);
  }
};
TYPED_TEST_SUITE(CudaCtc, BothTypes);

TYPED_TEST(CudaCtc, IsThatOfTheCpu) {
  for (const bool zero_infinity : {false, true}) {
    this->check(1, 2, 3, 1, 0, zero_infinity);
    this->check(12, 7, 4, 5, 0, zero_infinity);
    this->check(12, 7, 6, 5, 3, zero_infinity);
    this->check(60, 5, 9, 40, 8, zero_infinity);
    this->check(170, 4, 5, 150, 2, zero_infinity);
    this->check(4, 3, 4, 0, 1, zero_infinity);
  }
  this->check(0, 2, 3, 2, 0, false);
  this->check(5, 0, 3, 2, 0, false);
}

}  // namespace
}  // namespace tape::kernels
