// DeBERTa's attention as ONNX operators (models/onnx/layers.h).
#include <algorithm>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/random.h"
#include "models/encoders/deberta.h"
#include "models/onnx/export.h"
#include "models/onnx/layers.h"
#include "tests/support/errors.h"
#include "tests/support/onnx_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

DebertaConfig deberta_to_export() {
  return {.vocab = 11,
          .d_model = 8,
          .layers = 2,
          .heads = 2,
          .d_ff = 12,
          .max_length = 64,
          .max_relative_positions = 9,
          .position_buckets = 4,
          .init_std = 0.4};
}

OnnxModel exported_deberta(Deberta& model, DType stored = f32) {
  const TemporaryFolder folder;
  model.eval();
  export_onnx(model, folder / "model.onnx", {.stored = stored});
  return read_onnx(folder / "model.onnx").model;
}

/// Compares the model with its file at lengths below and above all distances, with padding and an all-padding text.
void expect_same_hidden(Deberta& model, const OnnxModel& file, const std::string& what) {
  const NoGrad no_grad;
  for (const int64_t length : {1, 5, 47}) {
    std::vector<int64_t> ids, mask;
    for (int64_t i = 0; i < 3 * length; ++i) {
      ids.push_back(1 + i * i % 10);
      mask.push_back(i / length == 0 ? 1 : i / length == 1 ? (i % 7 < 5 ? 1 : 0) : 0);
    }
    const Tensor given = from_vector(ids, {3, length}), seen = from_vector(mask, {3, length});
    const auto out = run_onnx(file, {{"input_ids", given}, {"attention_mask", seen}});
    const Tensor expected = model(given, Mask::padding(seen, 0));
    EXPECT_TRUE(tensors_near(out.at("last_hidden_state"), expected, 1e-5)) << what << ", " << length;
  }
}

/// Each kind of term, shared and own projections, one row per distance, even and odd numbers of buckets (an odd number
/// distinguishes distances far beyond max_relative_positions), and a norm of the rows.
TEST(OnnxDisentangled, GivesADebertasOutputs) {
  for (const nn::PositionTerms terms :
       {nn::PositionTerms::both, nn::PositionTerms::content_to_position, nn::PositionTerms::position_to_content})
    for (const int64_t buckets : {0, 2, 4, 5})
      for (const bool shared : {true, false}) {
        DebertaConfig config = deberta_to_export();
        config.terms = terms;
        config.position_buckets = buckets;
        config.share_projections = config.norm_positions = shared;
        config.position_table = buckets == 0;
        Deberta model(config);
        expect_same_hidden(model, exported_deberta(model),
                           fmt::format("terms {}, {} buckets, shared {}", static_cast<int>(terms), buckets, shared));
      }
}

TEST(OnnxDisentangled, StoresPositionRowsInHalfPrecision) {
  for (const DType stored : {f16, bf16}) {
    Deberta model(deberta_to_export());
    const OnnxModel file = exported_deberta(model, stored);
    const auto rows = std::ranges::find(file.tensors, "encoder.relative_rows.weight", &OnnxTensor::name);
    ASSERT_NE(rows, file.tensors.end());
    EXPECT_EQ(rows->stored, stored);
    for (const NamedTensor& parameter : model.named_parameters())
      if (parameter.tensor.rank() == 2) {
        const NoGrad no_grad;
        Tensor(parameter.tensor).copy_(parameter.tensor.to(stored));
      }
    expect_same_hidden(model, file, fmt::format("{}", to_string(stored)));
  }
}

/// Layers of one stack may have different buckets.
TEST(OnnxDisentangled, UsesEachLayersOwnDistances) {
  nn::TransformerLayerOptions near{.d_model = 8, .heads = 2, .d_ff = 12, .norm = nn::NormPlace::post};
  near.disentangled = nn::DisentangledAttentionOptions{.max_distance = 6, .buckets = 4};
  nn::TransformerLayerOptions far = near;
  far.disentangled->max_distance = 30;
  nn::Encoder encoder({near, far, near});
  encoder.eval();
  onnx::Graph g(f32);
  const onnx::Value in = g.input("x", f32, {"batch", "length", 8}), seen = g.input("mask", i64, {"batch", "length"});
  const onnx::Value from_0 = onnx::places(g, g.whole(0), g.size(in, 1));
  onnx::AttentionContext around(seen, onnx::distances(g, from_0, from_0), from_0, false);
  g.output("y", onnx::forward(g, encoder, in, around), {"batch", "length", 8});
  const NoGrad no_grad;
  const Tensor x = randn({2, 40, 8});
  const Tensor y = run_onnx(g.take("layers"), {{"x", x}, {"mask", ones({2, 40}, i64)}}).at("y");
  EXPECT_TRUE(tensors_near(y, encoder(x), 1e-5));
}

TEST(OnnxDisentangled, RefusesTooManyDistances) {
  const TemporaryFolder folder;
  DebertaConfig config = deberta_to_export();
  config.max_relative_positions = 1 << 20;
  config.position_buckets = 5;
  const Deberta model(config);
  EXPECT_TAPE_ERROR(
      export_onnx(model, folder / "a.onnx"), ErrorKind::config,
      "export onnx: encoder.layers.0.self_attention: separate rows for distances beyond 1048576 cannot be exported");
}

}  // namespace
}  // namespace tape::models
