// Training steps as graphs: each is one list of work, which ends where the host asks for the loss.
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/graph.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/decoders/gpt.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adamw.h"
#include "tests/cuda/test_device.h"
#include "train/trainer/trainer.h"

namespace tape::train {
namespace {

constexpr int64_t kVocabulary = 11, kBatch = 3, kLength = 8;

/// How many works, lists and waits a step of a training run has, from the fifth on.
struct StepCost {
  int64_t by_graph = 0, plainly = 0, graphs = 0, waits = 0;
  std::string lists;
  std::string refusal;  // of the driver
};

struct Ids {
  std::vector<int64_t> values;  // [kBatch, kLength + 1]; each row ends with padding, 0, from another place on
};

Ids ids_of(int64_t batch) {
  Generator draws(static_cast<uint64_t>(batch));
  Ids ids;
  for (int64_t row = 0; row < kBatch; ++row)
    for (int64_t t = 0; t <= kLength; ++t)
      ids.values.push_back(t < kLength - row ? 1 + draws.below(kVocabulary - 1) : 0);
  return ids;
}

template <class Model, class Loss>
StepCost cost_of_steps(Model& model, const Loss& loss, const TrainerOptions& given) {
  constexpr int64_t kSteps = 8;
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-3});
  std::vector<cuda_device::GraphStatistics> counts;
  std::vector<int64_t> waits;
  TrainerOptions options = given;
  options.steps = kSteps;
  options.clip_norm = 1;
  options.interrupted = [&] {
    counts.push_back(cuda_device::graph_statistics());
    waits.push_back(cuda_device::waits());
    return false;
  };
  Trainer trainer(model, optimizer, options);
  Loader<Ids> loader({.plan =
                          [](int64_t) {
                            return EpochPlan({{0}, {1}, {2}});
                          },
                      .collate = [](const std::vector<int64_t>& of) { return ids_of(of[0]); }});
  trainer.fit(loader, [&](const Ids& ids) {
    return BatchLoss{loss(from_vector(ids.values, {kBatch, kLength + 1})), kBatch * kLength};
  });
  cuda_device::GraphStatistics last = counts.back();
  const auto first = static_cast<size_t>(4 * given.accumulate);  // asked before each batch
  const cuda_device::GraphStatistics& before = counts[first];
  for (size_t i = 0; i < last.lists.size(); ++i) last.lists[i] -= before.lists[i];
  return {(last.by_graph - before.by_graph) / (kSteps - 4),
          last.plainly - before.plainly,
          last.graphs - before.graphs,
          waits.back() - waits[first],
          cuda_device::list_ends_text(last),
          last.refusal};
}

/// With work collected in contexts that are created during a test.
class CollectsWork {
 public:
  CollectsWork() { setenv("TAPE_CUDA_GRAPHS", "1", 1); }
  ~CollectsWork() { unsetenv("TAPE_CUDA_GRAPHS"); }
};

class StepLists : public testing::Test {
 protected:
  static StepCost cost_of_gpt(const TrainerOptions& options) {
    const DeviceScope on_device(cuda);
    manual_seed(1);
    models::Gpt model(
        {.vocab = kVocabulary, .d_model = 16, .layers = 2, .heads = 2, .max_length = kLength, .dropout = 0.1});
    return cost_of_steps(
        model,
        [&](const Tensor& ids) {
          return model.loss(slice(ids, 1, {.end = kLength}), slice(ids, 1, {.start = 1}), {.ignore_index = 0});
        },
        options);
  }
  static StepCost cost_of_transformer(const TrainerOptions& options) {
    const DeviceScope on_device(cuda);
    manual_seed(1);
    models::Transformer model({.src_vocab = kVocabulary,
                               .tgt_vocab = kVocabulary,
                               .d_model = 16,
                               .layers = 2,
                               .heads = 2,
                               .d_ff = 32,
                               .dropout = 0.1,
                               .positions = nn::SinusoidLayout::fairseq});
    return cost_of_steps(
        model,
        [&](const Tensor& ids) {
          return model.loss(slice(ids, 1, {.start = 1}), slice(ids, 1, {.end = kLength}), slice(ids, 1, {.start = 1}),
                            {.ignore_index = 0, .label_smoothing = 0.1});
        },
        options);
  }
  static void expect_one_graph_per_step(const StepCost& cost) {
    EXPECT_GT(cost.by_graph, 50);
    EXPECT_EQ(cost.plainly, 0) << cost.refusal;
    EXPECT_EQ(cost.graphs, 0) << cost.refusal;
    EXPECT_EQ(cost.waits, 0);
    EXPECT_EQ(cost.lists, "4 by copies to the host");
    fmt::print("{} works a step\n", cost.by_graph);
  }

  const CollectsWork on_;
  const cuda_device::TestDevice device_;
};

TEST_F(StepLists, AreOnePerStepOfAGpt) { expect_one_graph_per_step(cost_of_gpt({})); }
TEST_F(StepLists, AreOnePerStepOfAnEncoderDecoder) { expect_one_graph_per_step(cost_of_transformer({})); }

TEST_F(StepLists, AreOnePerBatchOfAStepOfSeveral) {
  const StepCost cost = cost_of_gpt({.accumulate = 2});
  EXPECT_EQ(cost.plainly, 0) << cost.refusal;
  EXPECT_EQ(cost.waits, 0);
  EXPECT_EQ(cost.lists, "4 by copies to the host, 4 by copies to the device");
}

}  // namespace
}  // namespace tape::train
