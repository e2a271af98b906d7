#include "nn/position/positional_encoding.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(PositionalEncoding, AgreesWithTheFormula) {
  PositionalEncoding layer(7, 10);
  expect_agrees_with_torch("positional encoding", layer);
  expect_agrees_with_torch(
      TorchCase("layers", "positional encoding later"),
      [&](const Named& in) {
        return Named{{"y", layer(in.at("input"), 3)}};
      },
      &layer);
}

TEST(PositionalEncoding, AgreesWithMarian) {
  for (const int64_t width : {6, 7}) {
    PositionalEncoding layer(width, 10, {.layout = SinusoidLayout::halves});
    expect_agrees_with_torch(
        TorchCase("positions", fmt::format("positional encoding halves {}", width)),
        [&](const Named& in) {
          return Named{{"y", layer(in.at("input"))}};
        },
        &layer);
  }
  EXPECT_EQ(PositionalEncoding(4, 5, {.layout = SinusoidLayout::halves}).settings(), "4, at most 5 positions, halves");
}

TEST(PositionalEncoding, HasFairseqsLastFrequencyOfOneTenThousandth) {
  const PositionalEncoding layer(6, 3, {.layout = SinusoidLayout::fairseq, .offset = 2});
  const Tensor row = layer.table[1].to(f64);  // position 3
  EXPECT_TRUE(tensors_near(
      row,
      tensor({std::sin(3.0), std::sin(0.03), std::sin(0.0003), std::cos(3.0), std::cos(0.03), std::cos(0.0003)}, f64),
      1e-7));
  EXPECT_EQ(layer.settings(), "6, at most 3 positions, as fairseq's");
}

TEST(PositionalEncoding, AcceptsAPositionForEachTokenAndAddsNothingToPadding) {
  const PositionalEncoding layer(4, 5);
  const Tensor x = randn({2, 3, 4});
  const Tensor y = layer.at(x, tensor({{-1, 0, 4}, {2, -1, 2}}, i64));
  const std::vector<std::vector<int64_t>> rows{{-1, 0, 4}, {2, -1, 2}};
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 3; ++t) {
      const int64_t row = rows[static_cast<size_t>(b)][static_cast<size_t>(t)];
      EXPECT_TRUE(tensors_equal(y[b][t], row < 0 ? x[b][t] : x[b][t] + layer.table[row])) << b << " " << t;
    }
  EXPECT_TAPE_ERROR(layer.at(x, tensor({{0, 1, 2}, {3, 4, 5}}, i64)), ErrorKind::shape,
                    "PositionalEncoding: position 5 is beyond the table of 5");
  EXPECT_TAPE_ERROR(layer.at(x, tensor({0, 1, 2}, i64)), ErrorKind::shape,
                    "PositionalEncoding: x must be [B, T, 4] and positions [B, T], got [2, 3, 4] and [3]");
}

TEST(LearnedPositionalEncoding, AgreesWithTorch) {
  for (const auto& [name, first] : {std::pair<const char*, int64_t>{"learned", 0}, {"learned later", 2}}) {
    LearnedPositionalEncoding layer(8, 7);
    expect_agrees_with_torch(
        TorchCase("positions", name),
        [&, start = first](const Named& in) {
          return Named{{"y", layer(in.at("input"), start)}};
        },
        &layer);
  }
}

TEST(LearnedPositionalEncoding, BeginsAfterItsOffset) {
  LearnedPositionalEncoding layer(4, 5, {.offset = 2});
  EXPECT_EQ(to_string(layer.weight.shape()), "[7, 4]");
  const NoGrad no_grad;
  EXPECT_TRUE(tensors_equal(layer(zeros({2, 4}), 3), slice(layer.weight, 0, {.start = 5, .end = 7})));
  EXPECT_EQ(layer.settings(), "4, at most 5 positions, from row 2 on");
  EXPECT_TAPE_ERROR(layer(zeros({2, 4}), 4), ErrorKind::shape,
                    "LearnedPositionalEncoding: positions 4 to 5 are beyond the table of 5");
  EXPECT_TAPE_ERROR(LearnedPositionalEncoding(4, 5, {.offset = -1}), ErrorKind::config,
                    "LearnedPositionalEncoding: offset must be at least 0, got -1");
}

TEST(LearnedPositionalEncoding, RefusesPositionsBeyondItsTable) {
  EXPECT_TAPE_ERROR(LearnedPositionalEncoding(0, 5), ErrorKind::config,
                    "LearnedPositionalEncoding: sizes must be at least 1, got width 0 and length 5");
  LearnedPositionalEncoding layer(4, 5);
  EXPECT_EQ(layer.settings(), "4, at most 5 positions");
  EXPECT_TAPE_ERROR(layer(zeros({2, 2, 4}), 4), ErrorKind::shape,
                    "LearnedPositionalEncoding: positions 4 to 5 are beyond the table of 5");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3})), ErrorKind::shape,
                    "LearnedPositionalEncoding: x must be [..., T, 4], got [2, 3]");
}

TEST(PositionalEncoding, HasFullPrecisionInF64) {
  PositionalEncoding layer(6, 5000);
  layer.to(f64);
  EXPECT_EQ(layer.table[4999].data<double>()[0], std::sin(4999.0));
  EXPECT_EQ(layer.table[4999].data<double>()[1], std::cos(4999.0));
  layer.to(f32);
  EXPECT_EQ(layer.table[4999].data<float>()[0], static_cast<float>(std::sin(4999.0)));
}

TEST(PositionalEncoding, HasNothingToTrainOrSave) {
  PositionalEncoding layer(4, 5);
  EXPECT_TRUE(layer.parameters().empty());
  EXPECT_TRUE(layer.state_dict().empty());
  EXPECT_EQ(layer.named_buffers().size(), 1u);
  EXPECT_FALSE(layer.table.requires_grad());
}

TEST(PositionalEncoding, PrintsItsSettings) {
  EXPECT_EQ(PositionalEncoding(4, 5).settings(), "4, at most 5 positions");
}

TEST(PositionalEncoding, RefusesSizesAndOffsetsOutOfRange) {
  EXPECT_TAPE_ERROR(PositionalEncoding(0, 5), ErrorKind::config,
                    "PositionalEncoding: sizes must be at least 1, got width 0 and length 5");
  EXPECT_TAPE_ERROR(PositionalEncoding(4, 0), ErrorKind::config,
                    "PositionalEncoding: sizes must be at least 1, got width 4 and length 0");
  for (const int64_t width : {2, 7})
    EXPECT_TAPE_ERROR(
        PositionalEncoding(width, 5, {.layout = SinusoidLayout::fairseq}), ErrorKind::config,
        fmt::format("PositionalEncoding: fairseq's sinusoids need an even width of at least 4, got {}", width));
  EXPECT_TAPE_ERROR(PositionalEncoding(4, 5, {.offset = -1}), ErrorKind::config,
                    "PositionalEncoding: offset must be at least 0, got -1");
}

TEST(PositionalEncoding, RefusesPositionsBeyondItsTable) {
  PositionalEncoding layer(4, 5);
  EXPECT_TAPE_ERROR(layer(zeros({2, 6, 4})), ErrorKind::shape,
                    "PositionalEncoding: positions 0 to 5 are beyond the table of 5");
  EXPECT_TAPE_ERROR(layer(zeros({2, 2, 4}), 4), ErrorKind::shape,
                    "PositionalEncoding: positions 4 to 5 are beyond the table of 5");
  EXPECT_TAPE_ERROR(layer(zeros({2, 2, 4}), -1), ErrorKind::shape,
                    "PositionalEncoding: positions -1 to 0 are beyond the table of 5");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3})), ErrorKind::shape, "PositionalEncoding: x must be [..., T, 4], got [2, 3]");
  EXPECT_TAPE_ERROR(layer(zeros({4})), ErrorKind::shape, "PositionalEncoding: x must be [..., T, 4], got [4]");
}

}  // namespace
}  // namespace tape::nn
