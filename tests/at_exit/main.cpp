// Tests what global variables of a program may own and do. They are destroyed after the library's objects of the main
// thread and after its function-local objects if these were constructed later. The tests fill them; the program's exit
// is the check, by its exit code and, in sanitizer builds, by AddressSanitizer (scripts/sanitize.sh).

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/print.h"
#include "autograd/random.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "autograd/tape/trace.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/linear.h"
#include "optim/adam.h"
#include "optim/schedule.h"
#include "optim/step_in_backward.h"

namespace {

using namespace tape;

/// Counts recorded operations.
struct Counter : Observer {
  void on_record(const Op&, TensorList, TensorList, AttributeList) override { ++count; }
  int count = 0;
};

double loss_of_a_new_model() {
  manual_seed(4);
  nn::Linear layer(8, 1);
  optim::Adam adam(layer.parameters());
  double last = 0;
  for (int step = 0; step < 3; ++step) {
    adam.zero_grad();
    const Tensor loss = mean(square(layer(randn({64, 8})) - 1));
    loss.backward();
    adam.step();
    last = loss.item();
  }
  return last;
}

/// Constructed first, so destroyed last: a program may still compute at that point.
struct LastWords {
  double expected = 0;
  ~LastWords() {
    if (expected == 0) return;
    const Counter counter;
    const Trace trace;
    const ModuleScope scope("at.exit");
    const bool same = loss_of_a_new_model() == expected;
    const bool named = !registered_ops().empty() && !to_string(ones({2})).empty() && ModuleScope::path() == "at.exit";
    if (same && named && counter.count > 0) return;
    std::fputs("a destructor of a global variable computed something else\n", stderr);
    std::_Exit(1);
  }
};

LastWords last_words;
std::optional<Counter> counter;
std::optional<Trace> trace;
std::unique_ptr<models::Transformer> model;
std::unique_ptr<optim::Adam> adam, stepped;
std::unique_ptr<optim::Schedule> schedule;
std::unique_ptr<optim::StepInBackward> stepping;
Tensor loss, gradient, chain;

TEST(AtExit, GlobalModelOptimizerAndTensorsAreDestroyed) {
  model = std::make_unique<models::Transformer>(models::TransformerConfig{
      .src_vocab = 11, .tgt_vocab = 11, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 16, .max_length = 8});
  adam = std::make_unique<optim::Adam>(model->parameters());
  schedule = std::make_unique<optim::LinearSchedule>(*adam, optim::LinearOptions{.total = 10});
  const Tensor src = tensor({{1, 2, 3}}, i64), tgt = tensor({{4, 5}}, i64);
  loss = cross_entropy(model->forward(src, tgt), tgt);
  loss.backward({.retain_graph = true});
  adam->step();
  schedule->step();
  gradient = model->parameters()[0].grad();
  EXPECT_TRUE(gradient.defined());
}

TEST(AtExit, GlobalGraphThatNoBackwardFreedIsDestroyed) {
  chain = ones({4}).requires_grad_();
  for (int i = 0; i < 100'000; ++i) chain = chain * 1.0;
  EXPECT_FALSE(chain.is_leaf());
}

TEST(AtExit, GlobalScopesAreClosed) {
  counter.emplace();
  trace.emplace();
  Tensor x = ones({4}).requires_grad_();
  const Tensor y = square(x);
  EXPECT_EQ(counter->count, 1);
  stepped = std::make_unique<optim::Adam>(Tensors{x});
  stepping = std::make_unique<optim::StepInBackward>(*stepped);
  sum(y).backward();
  EXPECT_EQ(stepping->updated(), 1);
}

TEST(AtExit, GlobalDestructorsMayCompute) {
  last_words.expected = loss_of_a_new_model();
  EXPECT_EQ(loss_of_a_new_model(), last_words.expected);
}

/// The same at the end of a thread.
struct LastWordsOfAThread {
  bool* said = nullptr;
  ~LastWordsOfAThread() {
    if (said) *said = loss_of_a_new_model() > 0;
  }
};

TEST(AtExit, ThreadLocalDestructorsMayCompute) {
  bool said = false;
  std::thread([&said] {
    thread_local LastWordsOfAThread words;
    words.said = &said;
    loss_of_a_new_model();
  }).join();
  EXPECT_TRUE(said);
}

}  // namespace
