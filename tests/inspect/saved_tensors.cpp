#include "inspect/saved_tensors.h"

#include <sstream>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/checkpoint.h"
#include "nn/linear.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

constexpr int64_t kRow = 100 * 4;  // bytes of 100 floats

Tensor leaf() { return ones({100}).requires_grad_(); }

std::vector<std::string> lines(const std::vector<SavedTensorsEntry>& entries) {
  std::vector<std::string> all;
  for (const SavedTensorsEntry& entry : entries)
    all.push_back(fmt::format("{}:{}:{}:{}", entry.module_path, entry.operation, entry.values, entry.bytes));
  return all;
}

TEST(SavedTensorsReport, CountsEachStorageOnceAndParametersSeparately) {
  const Tensor w = leaf();
  const Tensor h = exp(w);                                      // saves h
  const Tensor y = h * w;                                       // saves h again, and w
  const Tensor z = sin(reshape(y, {10, 10}));                   // saves y, through a view
  const SavedTensorsReport ledger = saved_tensors(sum(z * z));  // saves z, twice
  EXPECT_EQ(ledger.values, 3);
  EXPECT_EQ(ledger.bytes, 3 * kRow);
  EXPECT_EQ(ledger.parameter_bytes, kRow);
  EXPECT_EQ(lines(ledger.by_operation()),
            (std::vector<std::string>{fmt::format(":exp:1:{}", kRow), fmt::format(":mul:1:{}", kRow),
                                      fmt::format(":sin:1:{}", kRow)}));
  EXPECT_TRUE(ledger.checkpoints.empty());
}

TEST(SavedTensorsReport, RecognizesViewsOfParametersBehindBackwardHooks) {
  nn::Linear layer(100, 3);
  layer.register_backward_hook([](nn::Module&, const Tensors&, const Tensor&) { return Tensors(); });
  // The layer saves its input, which is a parameter even after the hook.
  const SavedTensorsReport ledger = saved_tensors(sum(layer(reshape(leaf(), {1, 100}))));
  EXPECT_EQ(ledger.bytes, 0);
  EXPECT_EQ(ledger.parameter_bytes, kRow + 3 * kRow);
}

/// Two modules in sequence; each saves three values, the first of which is its input.
Tensor two_modules(const Tensor& w, const std::function<Tensor(const Tensor&)>& part) {
  Tensor h = exp(w);
  for (const char* name : {"layers.0", "layers.1"}) {
    const ModuleScope outer("encoder"), module(name);
    h = part(h);
  }
  return sum(h);
}

Tensor three_sines(const Tensor& x) {
  const ModuleScope inner("inner");
  return sin(sin(sin(x)));
}

TEST(SavedTensorsReport, EstimatesWhatACheckpointOfEachModuleFrees) {
  const Trace trace;
  const SavedTensorsReport ledger = saved_tensors(two_modules(leaf(), three_sines));
  EXPECT_EQ(lines(ledger.entries), (std::vector<std::string>{fmt::format("encoder.layers.1.inner:sin:3:{}", 3 * kRow),
                                                             fmt::format("encoder.layers.0.inner:sin:2:{}", 2 * kRow),
                                                             fmt::format(":exp:1:{}", kRow)}));
  std::vector<std::string> freed;
  for (const CheckpointSaving& saving : ledger.checkpoints)
    freed.push_back(fmt::format("{}:{}", saving.module_path, saving.bytes));
  EXPECT_EQ(freed, (std::vector<std::string>{
                       fmt::format("encoder:{}", 5 * kRow), fmt::format("encoder.layers.0:{}", 2 * kRow),
                       fmt::format("encoder.layers.0.inner:{}", 2 * kRow), fmt::format("encoder.layers.1:{}", 2 * kRow),
                       fmt::format("encoder.layers.1.inner:{}", 2 * kRow)}));
}

TEST(SavedTensorsReport, PredictsWhatCheckpointsFree) {
  const Trace trace;
  const auto checkpointed = [](const Tensor& x) {
    return checkpoint([](const Tensors& in) { return three_sines(in[0]); }, {x});
  };
  const Tensor w = leaf();
  const SavedTensorsReport before = saved_tensors(two_modules(w, three_sines)),
                           after = saved_tensors(two_modules(w, checkpointed));
  int64_t predicted = 0;
  for (const CheckpointSaving& saving : before.checkpoints)
    if (saving.module_path == "encoder.layers.0" || saving.module_path == "encoder.layers.1") predicted += saving.bytes;
  EXPECT_EQ(before.bytes - after.bytes, predicted);
  EXPECT_EQ(predicted, 4 * kRow);
}

TEST(SavedTensorsReport, SubtractsInputsThatWereNotSavedBefore) {
  const Trace trace;
  const auto part = [](const Tensor& x) { return sin(x + 1.0) * 2; };  // the sum saves nothing, so x is not saved
  const SavedTensorsReport ledger = saved_tensors(two_modules(leaf(), [&](const Tensor& x) { return part(x); }));
  // exp saves the first module's input; nothing saves the second's: its checkpoint would free one value and save one.
  ASSERT_EQ(ledger.checkpoints.size(), 2u);
  EXPECT_EQ(ledger.checkpoints[0].module_path, "encoder");
  EXPECT_EQ(ledger.checkpoints[0].bytes, 2 * kRow);
  EXPECT_EQ(ledger.checkpoints[1].module_path, "encoder.layers.0");
  EXPECT_EQ(ledger.checkpoints[1].bytes, kRow);
}

TEST(SavedTensorsReport, RecognizesParametersInAModuleWithBackwardHooks) {
  nn::Linear layer(10, 10);
  const Tensor x = ones({10, 10}).requires_grad_();
  EXPECT_EQ(saved_tensors(sum(layer(x))).parameter_bytes, 2 * kRow);  // x and the weight
  layer.register_backward_hook([](nn::Module&, const Tensors&, const Tensor&) { return Tensors{}; });
  const SavedTensorsReport hooked = saved_tensors(sum(layer(x)));
  EXPECT_EQ(hooked.parameter_bytes, 2 * kRow);
  EXPECT_EQ(hooked.bytes, 0);
}

TEST(SavedTensorsReport, MatchesTheBytesOfTheAllocator) {
  const Tensor w = ones({1 << 16}).requires_grad_();
  const int64_t before = memory_stats().live_bytes;
  Tensor loss = sum(sin(exp(w) * w));
  const int64_t kept = memory_stats().live_bytes - before;
  const SavedTensorsReport ledger = saved_tensors(loss);
  EXPECT_EQ(ledger.bytes, 2 * (4 << 16));
  EXPECT_NEAR(static_cast<double>(kept), static_cast<double>(ledger.bytes), 64);  // plus the loss itself
}

TEST(SavedTensorsReport, PrintsATable) {
  const Trace trace;
  const SavedTensorsReport ledger = saved_tensors(two_modules(leaf(), three_sines));
  EXPECT_EQ(to_string(ledger, 2),
            "saved for the backward: 2.3 KiB in 6 values; parameters, not included: 0 B\n"
            "module                  operation  values       bytes  share\n"
            "encoder.layers.1.inner  sin             3     1.2 KiB    50%\n"
            "encoder.layers.0.inner  sin             2       800 B    33%\n"
            "1 more                                  1       400 B    17%\n"
            "a checkpoint around     would free\n"
            "encoder                    2.0 KiB\n"
            "encoder.layers.0             800 B\n");
  std::ostringstream stream;
  stream << ledger;
  EXPECT_EQ(stream.str(), to_string(ledger));
}

TEST(SavedTensorsReport, RequiresATape) {
  const Tensor w = leaf(), loss = sum(exp(w));
  loss.backward();
  EXPECT_TAPE_ERROR(
      saved_tensors(loss), ErrorKind::graph,
      "saved_tensors: the tape of 'sum' was freed by a backward; call this before it, or pass retain_graph");
  EXPECT_TAPE_ERROR(saved_tensors(ones({1})), ErrorKind::graph,
                    "saved_tensors: the loss [1] has no graph: nothing it was computed from requires gradients");
}

TEST(SavedTensorsReport, PrintsTwoTablesOfTheSameWidth) {
  const SavedTensorsReport ledger{
      .entries = {{.module_path = "encoder.layers.0", .operation = "softmax", .values = 2, .bytes = 3072},
                  {.operation = "sum", .values = 1, .bytes = 1024}},
      .checkpoints = {{"encoder.layers.0", 2048}},
      .values = 3,
      .bytes = 4096,
      .parameter_bytes = 1024};
  EXPECT_EQ(to_string(ledger, 5),
            "saved for the backward: 4.0 KiB in 3 values; parameters, not included: 1.0 KiB\n"
            "module               operation  values       bytes  share\n"
            "encoder.layers.0     softmax         2     3.0 KiB    75%\n"
            "                     sum             1     1.0 KiB    25%\n"
            "a checkpoint around  would free\n"
            "encoder.layers.0        2.0 KiB\n");
  EXPECT_EQ(to_string(ledger, 1),
            "saved for the backward: 4.0 KiB in 3 values; parameters, not included: 1.0 KiB\n"
            "module               operation  values       bytes  share\n"
            "encoder.layers.0     softmax         2     3.0 KiB    75%\n"
            "1 more                               1     1.0 KiB    25%\n"
            "a checkpoint around  would free\n"
            "encoder.layers.0        2.0 KiB\n");
}

}  // namespace
}  // namespace tape
