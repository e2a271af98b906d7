#include "models/onnx/onnx.h"

#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/shape.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/onnx_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// y = x table^T, plus everything else that a file can contain.
OnnxModel small_model(const Tensor& table, DType stored = f32) {
  return {.name = "small",
          .nodes = {{"Cast", "wide", {"table"}, {"wide"}, {{"to", onnx_type(f32)}}},
                    {"MatMul", "product", {"x", "wide"}, {"product"}},
                    {"LayerNormalization",
                     "norm",
                     {"product", "scale", ""},
                     {"y"},
                     {{"axis", int64_t{-1}}, {"epsilon", 0.5F}, {"many", std::vector<int64_t>{3, -4}}}}},
          .tensors = {{"table", table, stored, true}, {"scale", ones({3}), f32}, {"ids", tensor({1, -2}, i64), i64}},
          .inputs = {{"x", f32, {"batch", 2}}},
          .outputs = {{"y", f32, {"batch", 3}}}};
}

TEST(Onnx, WritesTheWholeModel) {
  const TemporaryFolder folder;
  const Tensor table = randn({3, 2});
  const OnnxModel model = small_model(table);
  save_onnx(folder / "a.onnx", model);
  const OnnxFile file = read_onnx(folder / "a.onnx");
  EXPECT_EQ(file.ir_version, 8);
  EXPECT_EQ(file.producer, "tapeformer");
  EXPECT_EQ(file.model.opset, 17);
  EXPECT_EQ(file.model.name, "small");
  ASSERT_EQ(file.model.nodes.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(file.model.nodes[i].op, model.nodes[i].op);
    EXPECT_EQ(file.model.nodes[i].name, model.nodes[i].name);
    EXPECT_EQ(file.model.nodes[i].inputs, model.nodes[i].inputs);
    EXPECT_EQ(file.model.nodes[i].outputs, model.nodes[i].outputs);
    EXPECT_EQ(file.model.nodes[i].attributes, model.nodes[i].attributes);
  }
  ASSERT_EQ(file.model.tensors.size(), 3U);
  EXPECT_TRUE(tensors_equal(file.model.tensors[0].values, transpose(table)));
  EXPECT_TRUE(tensors_equal(file.model.tensors[1].values, ones({3})));
  EXPECT_TRUE(tensors_equal(file.model.tensors[2].values, tensor({1, -2}, i64)));
  EXPECT_EQ(file.model.inputs.front().shape, (std::vector<OnnxSize>{"batch", 2}));
  EXPECT_EQ(file.model.outputs.front().name, "y");
}

TEST(Onnx, StoresMatricesInHalfPrecision) {
  const TemporaryFolder folder;
  const Tensor table = randn({3, 2}, f64);
  for (const DType stored : {f32, f16, bf16}) {
    save_onnx(folder / "a.onnx", small_model(table, stored));
    const OnnxModel read = read_onnx(folder / "a.onnx").model;
    EXPECT_TRUE(tensors_equal(read.tensors[0].values, transpose(table).to(stored))) << to_string(stored);
  }
}

/// Tensors of 1 KiB and more go to the second file, at multiples of the page size.
TEST(Onnx, WritesASecondFileIfOneWouldBeTooLarge) {
  const TemporaryFolder folder;
  OnnxModel model = small_model(randn({300, 2}));
  model.tensors.push_back({"other", randn({256}), f32});
  save_onnx(folder / "a.onnx", model, {.max_inline_bytes = 3451});
  EXPECT_EQ(entries_of(folder.path()), (std::vector<std::string>{"a.onnx", "a.onnx_data"}));
  EXPECT_EQ(read_text(folder / "a.onnx_data").size(), 4096U + 1024U);
  const OnnxModel read = read_onnx(folder / "a.onnx").model;
  EXPECT_TRUE(tensors_equal(read.tensors[0].values, transpose(model.tensors[0].values)));
  EXPECT_TRUE(tensors_equal(read.tensors[1].values, model.tensors[1].values));
  EXPECT_TRUE(tensors_equal(read.tensors[3].values, model.tensors[3].values));
  // With a limit one byte higher there is one file again, and the second one of the earlier save is removed.
  save_onnx(folder / "a.onnx", model, {.max_inline_bytes = 3452});
  EXPECT_EQ(entries_of(folder.path()), std::vector<std::string>{"a.onnx"});
}

TEST(Onnx, RefusesToWriteInvalidModels) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.onnx";
  const auto expect_refused = [&](const OnnxModel& model, const std::string& sentence) {
    EXPECT_TAPE_ERROR(save_onnx(path, model), ErrorKind::config, path + ": " + sentence);
    EXPECT_EQ(entries_of(folder.path()), std::vector<std::string>());
  };
  OnnxModel model = small_model(ones({3, 2}));
  model.nodes[1].outputs = {"wide"};
  expect_refused(model, "two values are called \"wide\"");
  model = small_model(ones({3, 2}));
  std::swap(model.nodes[0], model.nodes[1]);
  expect_refused(model, "product uses \"wide\" before it is defined");
  model = small_model(ones({3, 2}));
  model.outputs.front().name = "z";
  expect_refused(model, "an output uses \"z\" before it is defined");
  expect_refused(small_model(full({3, 2}, 70000), f16), "tensor \"table\": 70000 overflows f16; use bf16 or f32");
  expect_refused(small_model(ones({3, 2}), i64), "tensor \"table\": f32 cannot be stored as i64");
  expect_refused(small_model(ones({3})), "tensor \"table\": cannot transpose [3], which is not a matrix");
}

}  // namespace
}  // namespace tape
