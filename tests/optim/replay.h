#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

#include "optim/clip.h"
#include "optim/schedule.h"
#include "tests/support/fixtures.h"

// Replays the PyTorch runs of tests/fixtures/make_optim.py.

namespace tape::optim {

/// Returns the largest |actual - expected| / max(|expected|, floor).
inline double relative_error(const Tensor& actual, const Tensor& expected, double floor = 1e-3) {
  EXPECT_EQ(actual.shape(), expected.shape());
  double worst = 0;
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const double want = expected.data<double>()[i], error = std::abs(actual.data<double>()[i] - want);
    worst = std::max(worst, error / std::max(std::abs(want), floor));
    if (std::isnan(error)) return error;
  }
  return worst;
}

struct Replay {
  Tensor weight, bias;
  const std::map<std::string, Tensor>& file = fixture_tensors("optim_steps");

  Replay() {
    weight = file.at("start.weight").clone().requires_grad_();
    bias = file.at("start.bias").clone().requires_grad_();
  }
  /// Returns the gradients of a step, counted from 1; the bias has none in every third step.
  void give_gradients(int64_t step) {
    weight.set_grad(file.at("gradient.weight")[step - 1].clone());
    bias.set_grad(step % 3 == 0 ? Tensor() : file.at("gradient.bias")[step - 1].clone());
  }
  /// Compares with the run of PyTorch 2.13 at the steps that were saved.
  void expect_as_saved(const std::string& run, int64_t step) const {
    const auto expected = file.find(fmt::format("{}.{}.weight", run, step));
    if (expected == file.end()) return;
    EXPECT_LE(relative_error(weight, expected->second), 1e-12) << run << ", weight after step " << step;
    EXPECT_LE(relative_error(bias, file.at(fmt::format("{}.{}.bias", run, step))), 1e-12)
        << run << ", bias after step " << step;
  }
  void expect_run(const std::string& run, Optimizer& optimizer) {
    ASSERT_TRUE(file.contains(run + ".100.weight"));
    for (int64_t step = 1; step <= 100; ++step) {
      give_gradients(step);
      optimizer.step();
      expect_as_saved(run, step);
    }
  }
};

}  // namespace tape::optim
