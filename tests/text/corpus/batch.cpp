#include "text/corpus/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tape::text {
namespace {

using testing::ElementsAre;
using Sequences = std::vector<std::vector<int64_t>>;

TEST(PadBatch, AddsBosAndEosAndPadsRows) {
  const PaddedBatch out = pad_batch(Sequences{{5, 6, 7}, {8}}, Sequences{{9}, {10, 11}});
  EXPECT_EQ(out.batch, 2);
  EXPECT_EQ(out.src_length, 3);
  EXPECT_EQ(out.tgt_length, 3);
  EXPECT_THAT(out.src, ElementsAre(5, 6, 7, 8, 0, 0));
  EXPECT_THAT(out.tgt_in, ElementsAre(1, 9, 0, 1, 10, 11));
  EXPECT_THAT(out.tgt_out, ElementsAre(9, 2, 0, 10, 11, 2));
}

TEST(PadBatch, AcceptsOtherSpecialIds) {
  const PaddedBatch out = pad_batch(Sequences{{5}, {6, 7}}, Sequences{{8}, {}}, {.pad = 99, .bos = 99, .eos = 0});
  EXPECT_THAT(out.src, ElementsAre(5, 99, 6, 7));
  EXPECT_THAT(out.tgt_in, ElementsAre(99, 8, 99, 99));
  EXPECT_THAT(out.tgt_out, ElementsAre(8, 0, 0, 99));
}

TEST(PadBatch, AcceptsEmptySequencesAndBatches) {
  const PaddedBatch one = pad_batch(Sequences{{}}, Sequences{{}});
  EXPECT_EQ(one.src_length, 0);
  EXPECT_EQ(one.tgt_length, 1);
  EXPECT_THAT(one.src, ElementsAre());
  EXPECT_THAT(one.tgt_in, ElementsAre(1));
  EXPECT_THAT(one.tgt_out, ElementsAre(2));
  const PaddedBatch none = pad_batch(Sequences{}, Sequences{});
  EXPECT_EQ(none.batch, 0);
  EXPECT_EQ(none.tgt_length, 0);
  EXPECT_TRUE(none.tgt_in.empty());
}

TEST(PadBatch, RefusesUnequalCountsAndPaddingInsideARow) {
  const auto expect_error = [](const Sequences& src, const Sequences& tgt, ErrorKind kind, const std::string& message) {
    try {
      pad_batch(src, tgt);
      FAIL() << "no error, expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_EQ(error.what(), message);
    }
  };
  expect_error({{1}, {2}}, {{1}}, ErrorKind::shape, "pad_batch: 2 sources but 1 targets");
  expect_error({{4}, {5, 0}}, {{4}, {4}}, ErrorKind::index, "pad_batch: source 1 has the padding id 0 at position 1");
  expect_error({{4}}, {{4, 4, -3}}, ErrorKind::index, "pad_batch: target 0 has the negative id -3 at position 2");
}

}  // namespace
}  // namespace tape::text
