#include "inspect/explorer/parts.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "autograd/ops.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/explorer/shared_data.h"
#include "models/decoders/llama.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

constexpr int64_t kTokens = 24;

/// A decoder of two layers with norms, rotary embeddings and activations, over 24 tokens.
class ExplorerLayers : public testing::Test {
 protected:
  ExplorerLayers() {
    manual_seed(4);
    model_ = std::make_unique<models::Llama>(
        models::LlamaConfig{.vocab = 30, .d_model = 64, .layers = 2, .heads = 2, .d_ff = 128, .max_length = kTokens});
    model_->eval();
    PageText text;
    for (int64_t i = 0; i < kTokens; ++i) {
      text.ids.push_back(7 * i % 30);
      text.tokens.push_back(fmt::format("t{}", i));
    }
    study_ = study(*model_, text);
  }

  Json data(const PageOptions& options = {}) const { return explorer_data(study_, options); }

  std::unique_ptr<models::Llama> model_;
  Study study_;
};

std::vector<Json> layers_of(const Json& data) {
  std::vector<Json> all;
  for (const char* list : {"layer_norms", "rms_norms", "activations", "rotaries"})
    for (const Json& layer : data[list]) all.push_back(layer);
  return all;
}

int64_t kept_rows(const Json& layer) { return shape_of(layer["input"])[0]; }

/// The four tensors that the page has of a layer.
std::vector<Json> tensors_of(const Json& layer) {
  return {layer["input"], layer["output"], layer["gradient_output"][0], layer["gradient_input"][0]};
}

TEST_F(ExplorerLayers, HaveAllRowsWhileThereIsRoom) {
  const Json page = data();
  std::vector<std::string> modules;
  for (const Json& layer : layers_of(page)) {
    SCOPED_TRACE(layer["module"].get<std::string>());
    modules.push_back(layer["module"]);
    EXPECT_EQ(layer["rows"], kTokens);
    EXPECT_EQ(layer["text"], 0);
    for (const Json& tensor : tensors_of(layer)) EXPECT_EQ(shape_of(tensor)[0], kTokens);
  }
  EXPECT_EQ(modules.size(), 5u + 2 + 2) << "norms, activations and rotaries";
  // The last row is that of the last token, and is what the module computes from its input.
  const Json& activation = page["activations"][1];
  const Tensor h = tensor_of(activation["input"])[kTokens - 1], y = tensor_of(activation["output"])[kTokens - 1];
  EXPECT_TRUE(tensors_near(y, h * sigmoid(h), 1e-6));
  EXPECT_GT(max(abs(tensor_of(activation["gradient_output"][0])[kTokens - 2])).item(), 0);
}

TEST_F(ExplorerLayers, KeepWholeRowsWhileTheTapesActivationsAreTruncated) {
  const Json page = share_repeated_data(data({.bytes = 1'800'000}));
  size_t cut = 0;
  for (const Json& node : page["tape"]["nodes"])
    if (node["outputs"][0]["value"].contains("cut")) ++cut;
  EXPECT_GT(cut, 0u);
  for (const Json& layer : layers_of(page)) {
    SCOPED_TRACE(layer["module"].get<std::string>());
    EXPECT_EQ(kept_rows(layer), kTokens);
    // A layer's output is also on the tape: it is whole there too, and stored once in the page.
    EXPECT_TRUE(layer["output"]["data"].is_number());
  }
  EXPECT_THAT(page.dump().size(), testing::AllOf(testing::Gt(1'700'000u), testing::Lt(1'820'000u)));
}

TEST_F(ExplorerLayers, HaveTheirFirstRowsIfThereIsLittleRoom) {
  const Json whole = data(), page = data({.bytes = 1'300'000});
  const std::vector<Json> all = layers_of(whole), some = layers_of(page);
  ASSERT_EQ(all.size(), some.size());
  for (size_t i = 0; i < some.size(); ++i) {
    SCOPED_TRACE(some[i]["module"].get<std::string>());
    EXPECT_EQ(some[i]["rows"], kTokens);
    EXPECT_THAT(kept_rows(some[i]), testing::AllOf(testing::Gt(8), testing::Lt(kTokens)));
    const std::vector<Json> wholes = tensors_of(all[i]), kept = tensors_of(some[i]);
    for (size_t j = 0; j < kept.size(); ++j) {
      const Tensor expected = slice(tensor_of(wholes[j]), 0, {.end = kept_rows(some[i])});
      EXPECT_TRUE(tensors_equal(tensor_of(kept[j]), expected)) << j;
    }
  }
  EXPECT_LT(share_repeated_data(page).dump().size(), 1'320'000u);
  // And no fewer than these, however small the page.
  for (const Json& layer : layers_of(data({.bytes = 1000})))
    EXPECT_EQ(kept_rows(layer), 512 / shape_of(layer["input"])[1]) << layer["module"];
}

TEST_F(ExplorerLayers, HaveAllRowsIfTheDetailNamesThem) {
  const Json page = data({.bytes = 1'000'000, .detail = {"*.1.feed_forward.activation", "*.0.norm1"}});
  std::vector<std::string> whole;
  for (const Json& layer : layers_of(page))
    if (kept_rows(layer) == kTokens) whole.push_back(layer["module"]);
  EXPECT_THAT(whole, testing::ElementsAre("encoder.layers.0.norm1", "encoder.layers.1.feed_forward.activation"));
}

}  // namespace
}  // namespace tape::inspect
