// Makes every allocation of a training step fail, one run each: the step throws or completes as if nothing had failed,
// leaks no memory, leaves parameters and optimizer unchanged, and can be repeated with bitwise identical results.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/memory.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/random.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "optim/sgd.h"
#include "tests/allocation/failing_allocator.h"

namespace tape {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kEvery = 7;  // step between failing allocations; sanitizers make each run ten times as long
#else
constexpr int64_t kEvery = 1;
#endif

std::string bytes_of_each(const Tensors& tensors) {
  std::string bytes;
  for (const Tensor& x : tensors)
    bytes.append(static_cast<const char*>(x.raw()), static_cast<size_t>(x.numel() * size_of(x.dtype())));
  return bytes;
}

/// A model with dropout and its optimizer in the middle of training, always in the same state.
struct Training {
  explicit Training(bool momentum, int steps_before) {
    manual_seed(3);
    model = std::make_unique<models::Transformer>(models::TransformerConfig{.src_vocab = 11,
                                                                            .tgt_vocab = 11,
                                                                            .d_model = 8,
                                                                            .layers = 1,
                                                                            .heads = 2,
                                                                            .d_ff = 16,
                                                                            .dropout = 0.2,
                                                                            .max_length = 8});
    if (momentum)
      optimizer = std::make_unique<optim::Sgd>(model->parameters(), optim::SgdOptions{.lr = 0.1, .momentum = 0.9});
    else
      optimizer = std::make_unique<optim::Adam>(model->parameters(), optim::AdamOptions{.lr = 1e-2});
    for (int step = 0; step < steps_before; ++step) this->step();
  }

  void step() {
    const Tensor src = randint(1, 11, {2, 5}), tgt = randint(1, 11, {2, 4});
    optimizer->zero_grad();
    cross_entropy(model->forward(src, tgt), tgt, {.label_smoothing = 0.1}).backward();
    optim::clip_grad_norm(model->parameters(), 0.1);
    optimizer->step();
  }

  std::string state() const {
    std::string bytes = bytes_of_each(model->parameters());
    for (const auto& [name, tensor] : optimizer->state_dict()) bytes += name + bytes_of_each({tensor});
    return bytes;
  }

  std::unique_ptr<models::Transformer> model;
  std::unique_ptr<optim::Optimizer> optimizer;
};

struct Way {
  const char* name;
  bool momentum;     ///< Sgd with momentum, or Adam
  int steps_before;  ///< 0: the step also allocates the optimizer's state
  int failing;       ///< number of consecutive failing allocations
};

class AllocationFailures : public testing::TestWithParam<Way> {
 protected:
  AllocationFailures() { kernels::set_num_threads(1); }
  ~AllocationFailures() override { kernels::set_num_threads(threads_); }

 private:
  const int threads_ = kernels::num_threads();
};

/// Runs a step of a new training in which allocations from `first` on fail. Returns the number of failed allocations.
int64_t try_step(const Way& way, int64_t first, const std::string& before, const std::string& after) {
  Training training(way.momentum, way.steps_before);
  const RandomState random = random_state();
  empty_cache();  // so that every tensor allocates from the system
  int64_t failed = 0;
  bool refused = false;
  {
    const FailingAllocations failing(first, way.failing);
    try {
      training.step();
    } catch (const std::bad_alloc&) {
      refused = true;
    } catch (const Error& error) {
      refused = true;
      EXPECT_EQ(error.kind(), ErrorKind::out_of_memory) << error.what();
    }
    failed = failing.failed();
  }
  if (!refused) {
    EXPECT_TRUE(training.state() == after)
        << "allocation " << first << " failed, and the step completed with different results";
    return failed;
  }
  EXPECT_TRUE(training.state() == before) << "the state differs after allocation " << first << " failed";
  set_random_state(random);
  training.step();
  EXPECT_TRUE(training.state() == after) << "the next step differs after allocation " << first << " failed";
  return failed;
}

TEST_P(AllocationFailures, LeaveEverythingUnchanged) {
  const Way way = GetParam();
  Training training(way.momentum, way.steps_before);
  const std::string before = training.state();
  training.step();
  const std::string after = training.state();
  ASSERT_NE(before, after);
  int64_t first = 0;
  for (;; first += kEvery) {
    if (try_step(way, first, before, after) == 0) break;
    // Repeats the step, now that growing caches have reached their size.
    const int64_t blocks = live_blocks(), bytes = memory_stats().live_bytes;
    try_step(way, first, before, after);
    ASSERT_EQ(memory_stats().live_bytes, bytes) << "tensors were leaked after allocation " << first << " failed";
    ASSERT_LE(live_blocks(), blocks) << "memory was leaked after allocation " << first << " failed";
    if (HasFailure()) break;
  }
  RecordProperty("allocations", std::to_string(first));
  EXPECT_GT(first, 1000);
}

INSTANTIATE_TEST_SUITE_P(Ways, AllocationFailures,
                         testing::Values(Way{"one_in_the_first_step_of_Adam", false, 0, 1},
                                         Way{"two_in_a_row_in_a_later_step_of_Adam", false, 1, 2},
                                         Way{"one_in_the_first_step_of_Sgd", true, 0, 1}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace tape
