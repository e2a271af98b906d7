#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "autograd/random.h"
#include "inspect/explorer/explorer_data.h"
#include "nn/attention/relative_attention.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

TEST(ExplorerRelative, StoresTheTablesWithTheirGradients) {
  manual_seed(6);
  nn::RelativeAttention layer(8, 2, {.max_distance = 2});
  layer.eval();
  const Tensor x = sample_normal({1, 4, 8}).to(f32);
  const Study study{
      .module = &layer, .kind = "encoder", .texts = {{.name = "text", .tokens = {"a", "b", "c", "d"}}}, .run = [&] {
        return std::vector<PageOutput>{{"loss", sum(square(layer(x)))}};
      }};
  const Json data = explorer_data(study);
  ASSERT_EQ(data["attention"].size(), 1u);
  const Json &block = data["attention"][0], &relative = block["relative"];
  EXPECT_TRUE(tensors_equal(tensor_of(relative["keys"]), layer.key_positions.detach()));
  EXPECT_TRUE(tensors_equal(tensor_of(relative["values"]), layer.value_positions.detach()));
  const Tensors expected = grad({sum(square(layer(x)))}, {layer.key_positions, layer.value_positions});
  EXPECT_TRUE(tensors_near(tensor_of(relative["gradients"][0]["keys"]), expected[0], 1e-5));
  EXPECT_TRUE(tensors_near(tensor_of(relative["gradients"][0]["values"]), expected[1], 1e-5));
  EXPECT_GT(max(abs(expected[0])).item(), 1e-3);
  // The sum that the page computes: ds q over all heads and all pairs at a distance.
  const Tensor ds = tensor_of(block["gradients"][0]["scores"]), q = tensor_of(block["values"]["query"]);
  for (int64_t distance = -2; distance <= 2; ++distance) {
    Tensor row = zeros({4});
    for (int64_t head = 0; head < 2; ++head)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 4; ++j)
          if (std::clamp<int64_t>(j - i, -2, 2) == distance)
            row =
                row + select(select(q, 0, head), 0, i) * (0.5 * select(select(select(ds, 0, head), 0, i), 0, j).item());
    EXPECT_TRUE(tensors_near(row, select(expected[0], 0, distance + 2), 1e-4)) << distance;
  }
  // The tape and the attention come from the same run.
  bool found = false;
  for (const Json& node : data["tape"]["nodes"])
    found =
        found || (node["operation"] == "softmax" && tensors_equal(select(tensor_of(node["outputs"][0]["value"]), 0, 0),
                                                                  tensor_of(block["values"]["probabilities"])));
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tape::inspect
