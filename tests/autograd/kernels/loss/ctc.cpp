#include "autograd/kernels/loss/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Ctc : public EveryLevel {};

using Probabilities = std::vector<long double>;

/// Forward and backward sums of one sequence as probabilities; the range of long double suffices for a hundred frames.
struct ExactCtc {
  template <class T>
  ExactCtc(const CtcProblem& p, int64_t n, const T* log_probs)
      : frames(p.input_lengths[n]), states(2 * p.target_lengths[n] + 1), share(static_cast<size_t>(frames * p.C)) {
    const auto label = [&](int64_t s) { return s % 2 ? p.targets[n * p.S + s / 2] : p.blank; };
    const auto given = [&](int64_t t, int64_t s) {
      return std::exp(static_cast<long double>(log_probs[(t * p.N + n) * p.C + label(s)]));
    };
    const auto skips = [&](int64_t s) { return s % 2 && s > 1 && label(s) != label(s - 2); };
    const auto at = [&](int64_t t, int64_t s) { return static_cast<size_t>(t * states + s); };
    Probabilities to(static_cast<size_t>(frames * states)), from(to.size());
    for (int64_t t = 0; t < frames; ++t)
      for (int64_t s = 0; s < states; ++s) {
        long double before = t == 0 ? s < 2 : to[at(t - 1, s)];
        if (t > 0 && s > 0) before += to[at(t - 1, s - 1)];
        if (t > 0 && skips(s)) before += to[at(t - 1, s - 2)];
        to[at(t, s)] = before * given(t, s);
      }
    for (int64_t t = frames; t-- > 0;)
      for (int64_t s = states; s-- > 0;) {
        long double& after = from[at(t, s)];
        after = t + 1 == frames ? s + 2 >= states : from[at(t + 1, s)] * given(t + 1, s);
        if (t + 1 < frames && s + 1 < states) after += from[at(t + 1, s + 1)] * given(t + 1, s + 1);
        if (t + 1 < frames && s + 2 < states && skips(s + 2)) after += from[at(t + 1, s + 2)] * given(t + 1, s + 2);
      }
    if (frames > 0)
      for (int64_t s = std::max<int64_t>(0, states - 2); s < states; ++s) total += to[at(frames - 1, s)];
    else
      total = states == 1;
    for (int64_t t = 0; t < frames && total > 0; ++t)
      for (int64_t s = 0; s < states; ++s)
        share[static_cast<size_t>(t * p.C + label(s))] += to[at(t, s)] * from[at(t, s)] / total;
  }
  int64_t frames, states;
  long double total = 0;
  Probabilities share;  ///< [frames, C]
};

/// Sequences of all lengths including zero, with repeated labels.
struct CtcData {
  CtcData(int64_t T, int64_t N, int64_t C, int64_t S) : targets(random_indices(N * S, 3, C - 1)) {
    for (int64_t& label : targets) ++label;
    for (int64_t n = 0; n < N; ++n) {
      frames.push_back(n == 1 ? 0 : T - n % 3);
      lengths.push_back(n == 1 ? 0 : n == 2 ? S : (n * 5) % (S + 1));
    }
    problem = {.T = T,
               .N = N,
               .C = C,
               .S = S,
               .targets = targets.data(),
               .input_lengths = frames.data(),
               .target_lengths = lengths.data(),
               .blank = 0,
               .zero_infinity = false};
  }
  std::vector<int64_t> targets, frames = {}, lengths = {};
  CtcProblem problem = {};
};

template <class T>
void check_ctc(int64_t frames, int64_t sequences, int64_t classes, int64_t labels) {
  const CtcData data(frames, sequences, classes, labels);
  const CtcProblem& p = data.problem;
  const std::vector<T> x = random_values<T>(frames * sequences * classes, 1, -3, 0),
                       dloss = random_values<T>(sequences, 2);
  std::vector<T> alpha(static_cast<size_t>(sequences * frames * (2 * labels + 1))),
      loss(static_cast<size_t>(sequences)), alone(loss), shown(loss), dx(x.size(), 9);
  ctc<T>().forward(p, x.data(), alpha.data(), loss.data(), shown.data());
  EXPECT_EQ(shown, loss);
  ctc<T>().forward(p, x.data(), nullptr, alone.data(), shown.data());
  EXPECT_EQ(alone, loss);
  ctc<T>().backward(p, x.data(), alpha.data(), loss.data(), dloss.data(), dx.data());
  std::vector<long double> wanted, wanted_dx(x.size());
  for (int64_t n = 0; n < sequences; ++n) {
    const ExactCtc exact(p, n, x.data());
    wanted.push_back(-std::log(exact.total));
    for (int64_t t = 0; t < exact.frames; ++t)
      for (int64_t c = 0; c < classes; ++c)
        wanted_dx[static_cast<size_t>((t * sequences + n) * classes + c)] =
            -static_cast<long double>(dloss[static_cast<size_t>(n)]) *
            exact.share[static_cast<size_t>(t * classes + c)];
  }
  const std::string what = " of " + std::to_string(labels) + " labels";
  expect_close(loss, wanted, tolerance<T>(1e-6, 1e-13), "loss" + what);
  expect_close(dx, wanted_dx, tolerance<T>(4e-6, 1e-12), "dlog_probs" + what);
}

TEST_P(Ctc, AgreesWithSumsOfProbabilities) {
  for (const int64_t labels : {1, 2, 3, 7, 8, 15, 16, 31}) {
    check_ctc<float>(40, 7, 5, labels);
    check_ctc<double>(40, 7, 5, labels);
  }
}

TEST_P(Ctc, IgnoresClassesWithProbabilityZero) {
  const int64_t target = 1, frames = 3, length = 1;
  const CtcProblem p{.T = 3,
                     .N = 1,
                     .C = 2,
                     .S = 1,
                     .targets = &target,
                     .input_lengths = &frames,
                     .target_lengths = &length,
                     .blank = 0,
                     .zero_infinity = false};
  const float never = -std::numeric_limits<float>::infinity();
  const std::vector<float> x{0, never, never, 0, 0, never};
  std::vector<float> alpha(9), dx(6);
  float loss, shown, dloss = 1;
  ctc<float>().forward(p, x.data(), alpha.data(), &loss, &shown);
  ctc<float>().backward(p, x.data(), alpha.data(), &loss, &dloss, dx.data());
  EXPECT_EQ(loss, 0);
  EXPECT_EQ(dx, (std::vector<float>{-1, 0, 0, -1, -1, 0}));
}

TEST_P(Ctc, ReplacesInfinityByZeroOnRequest) {
  const int64_t targets[] = {1, 1, 1, 2}, frames[] = {2, 2}, lengths[] = {2, 2};  // no blank fits between 1 and 1
  CtcProblem p{.T = 2,
               .N = 2,
               .C = 3,
               .S = 2,
               .targets = targets,
               .input_lengths = frames,
               .target_lengths = lengths,
               .blank = 0,
               .zero_infinity = true};
  const std::vector<double> x(12, -1.0);
  std::vector<double> loss(2), shown(2);
  ctc<double>().forward(p, x.data(), nullptr, loss.data(), shown.data());
  EXPECT_EQ(loss[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(shown[0], 0);
  EXPECT_NEAR(loss[1], 2, 1e-14);
  EXPECT_EQ(shown[1], loss[1]);
}

TEST_P(Ctc, IsBitwiseEqualForAnyThreadCount) {
  const CtcData data(60, 16, 9, 20);
  const std::vector<float> x = random_values<float>(60 * 16 * 9, 4, -3, 0), dloss(16, 1.0F);
  expect_same_bits([&] {
    std::vector<float> alpha(16 * 60 * 41), loss(16), shown(16), dx(x.size());
    ctc<float>().forward(data.problem, x.data(), alpha.data(), loss.data(), shown.data());
    ctc<float>().backward(data.problem, x.data(), alpha.data(), loss.data(), dloss.data(), dx.data());
    dx.insert(dx.end(), loss.begin(), loss.end());
    return dx;
  });
}

TAPE_EVERY_LEVEL(Ctc);

}  // namespace
}  // namespace tape::kernels::testing
