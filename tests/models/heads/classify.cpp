#include "models/heads/classify.h"

#include <limits>
#include <set>

#include "autograd/create.h"
#include "autograd/ops/norm/softmax.h"
#include "models/folders/folder.h"
#include "models/heads/length_batches.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

/// 13 words, 11 positions, 3 labels, f64; larger weights, so that probabilities differ.
std::unique_ptr<SequenceClassifier> lively() {
  auto model = load<SequenceClassifier>(fixture_path("hugging_face/bert_classifier"));
  const NoGrad no_grad;
  for (Tensor& parameter : model->parameters())
    if (parameter.rank() == 2) parameter.mul_(5);
  return model;
}

const std::vector<Ids> sequences{{2, 3, 4}, {5}, {}, {2, 7, 8, 9, 10, 11, 12, 3, 4, 5, 6}, {6, 6}, {2, 3, 5}};
const std::vector<Ids> some_segments{{0, 0, 1}, {0}, {}, {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, {1, 1}, {0, 0, 0}};

TEST(Classify, GivesEachSequenceItsResultAlone) {
  const auto model = lively();
  for (const bool paired : {false, true})
    for (const int64_t batch_tokens : {1, 6, 4096}) {
      const auto found =
          classify(*model, sequences, paired ? some_segments : std::vector<Ids>(), {.batch_tokens = batch_tokens});
      ASSERT_EQ(found.size(), sequences.size());
      std::set<double> different;
      for (size_t row = 0; row < sequences.size(); ++row) {
        if (sequences[row].empty()) {
          EXPECT_TRUE(found[row].empty());
          continue;
        }
        const Shape shape{1, std::ssize(sequences[row])};
        const NoGrad no_grad;
        const Tensor alone = softmax((*model)(from_vector(sequences[row], shape), Mask(),
                                              paired ? from_vector(some_segments[row], shape) : Tensor()),
                                     -1);
        EXPECT_TRUE(tensors_near(from_vector(found[row], {1, 3}), alone, 1e-12)) << "row " << row;
        different.insert(found[row][0]);
      }
      EXPECT_EQ(different.size(), 5u);
    }
}

TEST(Classify, DoesNotMaskTokensWithThePaddingId) {
  const auto model = lively();
  const auto found = classify(*model, std::vector<Ids>{{2, 0, 4}, {2}});
  const NoGrad no_grad;
  const Tensor ids = tensor({{2, 0, 4}}, i64);
  EXPECT_TRUE(tensors_near(from_vector(found[0], {1, 3}), softmax((*model)(ids, Mask()), -1), 1e-12));
  EXPECT_FALSE(tensors_near(from_vector(found[0], {1, 3}), softmax((*model)(ids), -1), 1e-6))
      << "it makes no difference";
}

TEST(Classify, RefusesInvalidSequencesAndSegments) {
  const auto model = lively();
  EXPECT_TAPE_ERROR(classify(*model, std::vector<Ids>{{2}, Ids(12, 3)}), ErrorKind::shape,
                    "classify: sequence 1 has 12 tokens, but the model has 11 positions");
  EXPECT_TAPE_ERROR(classify(*model, std::vector<Ids>{{2, 13}}), ErrorKind::index,
                    "classify: sequence 0 has id 13 at position 1, which is not in 0..12");
  EXPECT_TAPE_ERROR(classify(*model, std::vector<Ids>{{2}}, std::vector<Ids>{{0}, {0}}), ErrorKind::shape,
                    "classify: 2 lists of segments for 1 sequences");
  EXPECT_TAPE_ERROR(classify(*model, std::vector<Ids>{{2}}, std::vector<Ids>{{0, 0}}), ErrorKind::shape,
                    "classify: sequence 0 has 1 tokens and 2 segments");
}

TEST(Classify, NamesASequenceWhoseScoresAreNaN) {
  const auto model = lively();
  const NoGrad no_grad;
  model->head->classifier->bias.fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TAPE_ERROR(classify(*model, std::vector<Ids>{{2}}), ErrorKind::numeric,
                    "classify: the model returns NaN or infinity for sequence 0");
}

TEST(RankedLabels, BeginWithTheLikeliest) {
  EXPECT_EQ(ranked_labels({0.2, 0.5, 0.1, 0.2}), (std::vector<size_t>{1, 0, 3, 2})) << "ties keep their order";
  EXPECT_TRUE(ranked_labels({}).empty());
}

TEST(LengthBatches, GroupSimilarLengthsLongestFirst) {
  const Ids lengths{3, 9, 0, 4, 3, 1};
  EXPECT_EQ(batches_by_length(lengths, 8), (std::vector<Ids>{{1}, {3, 0}, {4, 5}}));
  EXPECT_EQ(batches_by_length(lengths, 1), (std::vector<Ids>{{1}, {3}, {0}, {4}, {5}}));
  EXPECT_EQ(batches_by_length(lengths, 1000), (std::vector<Ids>{{1, 3, 0, 4, 5}}));
  // Two rows as long as the longest fill a batch, however short the others are.
  EXPECT_EQ(batches_by_length(std::vector<int64_t>{4, 1, 1}, 8), (std::vector<Ids>{{0, 1}, {2}}));
  EXPECT_TRUE(batches_by_length({}, 8).empty());
  const std::vector<Ids> rows{{1, 2, 3}, {4}, {5, 6}};
  const Ids which{2, 1};
  EXPECT_TRUE(tensors_equal(padded_rows(rows, which, 9), tensor({{5, 6}, {4, 9}}, i64)));
}

}  // namespace
}  // namespace tape::models
