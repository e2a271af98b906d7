#include "nn/adapters.h"

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "nn/embedding/embedding.h"
#include "nn/init.h"
#include "nn/transformer/encoder.h"
#include "nn/transformer/heads.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

using Names = std::vector<std::string>;

struct Small {
  Encoder model{2, {.d_model = 8, .heads = 2, .d_ff = 12, .dropout = 0}};
  Tensor x = randn({2, 3, 8});
  void fill(const std::string& name) {
    for (auto& [path, value] : adapter_state(model, name))
      if (path.ends_with(".B")) init::normal_(value);
  }
};

TEST(Adapters, AreAddedToLayersThatMatchATarget) {
  Small s;
  EXPECT_EQ(add_adapter(s.model, "ends", {}, {"query", "feed_forward.linear1"}),
            (Names{"layers.0.self_attention.query", "layers.0.feed_forward.linear1", "layers.1.self_attention.query",
                   "layers.1.feed_forward.linear1"}));
  EXPECT_EQ(add_adapter(s.model, "within", {}, {"layers.1.self_attention"}).size(), 4U);
  EXPECT_EQ(add_adapter(s.model, "stars", {}, {"layers.*.val*"}),
            (Names{"layers.0.self_attention.value", "layers.1.self_attention.value"}));
  EXPECT_EQ(add_adapter(s.model, "all", {}, {"all-linear"}).size(), 12U);
  EXPECT_EQ(adapter_names(s.model), (Names{"ends", "all", "stars", "within"}));
}

TEST(Adapters, AreAddedToAllLayersOrNone) {
  Small s;
  const auto refused = [&s](const std::vector<std::pair<std::string, LoraOptions>>& layers,
                            const std::string& sentence) {
    EXPECT_TAPE_ERROR(add_adapters(s.model, "new", layers), ErrorKind::config, sentence);
    EXPECT_TRUE(adapter_names(s.model).empty());
  };
  const std::string query = "layers.0.self_attention.query", key = "layers.0.self_attention.key";
  refused({{query, {}}, {"layers.0.norm1", {}}}, "add_adapter: layers.0.norm1 is not a Linear layer of the model");
  refused({{query, {}}, {key, {.rank = 0}}}, "Lora: rank must be at least 1, got 0");
  EXPECT_EQ(find_adapter_targets(s.model, {"query", "linear1"}, {"layers.1"}),
            (Names{query, "layers.0.feed_forward.linear1"}));
  EXPECT_TAPE_ERROR(
      find_adapter_targets(s.model, {"linear1"}, {"layers.0.feed_forward", "layers.1.feed_forward"}), ErrorKind::config,
      "add_adapter: no Linear layer matches the target \"linear1\"; their names end in key, output, query, value");
}

TEST(Adapters, AreActivatedByName) {
  Small s;
  const Tensor none = s.model(s.x);
  add_adapter(s.model, "one", {}, {"query", "value"});
  add_adapter(s.model, "two", {}, {"linear2"});
  s.fill("one");
  s.fill("two");
  activate_adapter(s.model, "one");
  const Tensor one = s.model(s.x);
  activate_adapter(s.model, "two");
  const Tensor two = s.model(s.x);
  activate_adapter(s.model, "");
  EXPECT_EQ(largest(s.model(s.x) - none), 0);
  EXPECT_GT(largest(one - none), 1e-3);
  EXPECT_GT(largest(two - none), 1e-3);
  activate_adapter(s.model, "one");
  EXPECT_EQ(largest(s.model(s.x) - one), 0);
  merge_adapters(s.model);
  EXPECT_LT(largest(s.model(s.x) - one), 1e-5);
  EXPECT_TAPE_ERROR(activate_adapter(s.model, "two"), ErrorKind::config,
                    "activate_adapter: the adapters of layers.0.self_attention.query are merged into its weight");
  unmerge_adapters(s.model);
  remove_adapter(s.model, "one");
  remove_adapter(s.model, "two");
  EXPECT_EQ(largest(s.model(s.x) - none), 0);
  EXPECT_TRUE(adapter_names(s.model).empty());
}

TEST(Adapters, AreTheOnlyTrainedParametersAfterTrainAdaptersOnly) {
  Small s;
  add_adapter(s.model, "one", {.rank = 2}, {"query"});
  add_adapter(s.model, "two", {.rank = 2}, {"query"});
  activate_adapter(s.model, "one");
  train_adapters_only(s.model);
  EXPECT_EQ(s.model.trainable_parameter_count(), 2 * (2 * 8 + 8 * 2));
  s.fill("one");
  sum(s.model(s.x) * s.model(s.x)).backward();
  for (const NamedTensor& named : s.model.named_parameters())
    EXPECT_EQ(named.tensor.grad().defined(), named.name.find("lora.one.") != std::string::npos) << named.name;
}

TEST(Adapters, RefuseUnknownTargetsAndNames) {
  Small s;
  EXPECT_TAPE_ERROR(
      add_adapter(s.model, "a", {}, {"query", "q_proj"}), ErrorKind::config,
      "add_adapter: no Linear layer matches the target \"q_proj\"; their names end in key, linear1, linear2, "
      "output, query, value");
  EXPECT_TAPE_ERROR(add_adapter(s.model, "a", {}, {}), ErrorKind::config, "add_adapter: no targets");
  EXPECT_TAPE_ERROR(activate_adapter(s.model, "a"), ErrorKind::config,
                    "activate_adapter: the model has no adapter \"a\"");
  add_adapter(s.model, "a", {}, {"value"});
  EXPECT_TAPE_ERROR(add_adapter(s.model, "a", {}, {"query", "value"}), ErrorKind::config,
                    "add_adapter: layers.0.self_attention.value already has an adapter \"a\"");
  EXPECT_EQ(adapter_state(s.model, "a").size(), 4U);
  EXPECT_TAPE_ERROR(remove_adapter(s.model, "b"), ErrorKind::config,
                    "remove_adapter: the model has no adapter \"b\"; it has a");
}

/// A layer whose weight is tied to an embedding table.
struct Tied : Module {
  Tied() { out->weight.tie(table->weight); }
  Child<Embedding> table{this, "table", 7, 4};
  Child<Linear> out{this, "out", 4, 7};
};

TEST(Adapters, RefuseToMergeIntoAWeightTiedToAnEmbedding) {
  Tied tied;
  add_adapter(tied, "a", {}, {"out"});
  EXPECT_TAPE_ERROR(merge_adapters(tied), ErrorKind::config,
                    "merge_adapters: the weight of out is tied to the table of table");
}

}  // namespace
}  // namespace tape::nn
