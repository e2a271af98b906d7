#include "models/sentence/sentence_modules.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

using Mode = SentencePooling;

/// Three positions, of which the second text's mask keeps two and the third's none.
const Tensor& hidden() {
  static const auto& values =
      *new const Tensor(tensor({{{1, 2}, {3, 6}, {5, 1}}, {{5, 5}, {7, 9}, {30, 10}}, {{1, 1}, {1, 1}, {1, 1}}}, f64));
  return values;
}
Mask shown() { return Mask::padding(tensor({{4, 4, 4}, {4, 4, 0}, {0, 0, 0}}, i64), 0); }

Tensor pooled(SentencePooling mode, int64_t skipped = 0) {
  return sentence_pool(hidden(), shown(), std::vector{mode}, skipped);
}

TEST(SentencePool, HasTheModesOfSentenceTransformers) {
  const double root2 = std::sqrt(2), root3 = std::sqrt(3);
  EXPECT_TRUE(tensors_near(pooled(Mode::cls), tensor({{1, 2}, {5, 5}, {1, 1}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::mean), tensor({{3, 3}, {6, 7}, {0, 0}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::mean_sqrt_len_tokens),
                           tensor({{9 / root3, 9 / root3}, {12 / root2, 14 / root2}, {0, 0}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::weightedmean),
                           tensor({{22.0 / 6, 17.0 / 6}, {19.0 / 3, 23.0 / 3}, {0, 0}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::lasttoken), tensor({{5, 1}, {7, 9}, {0, 0}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::max), tensor({{5, 6}, {7, 9}, {-INFINITY, -INFINITY}}, f64), 1e-12));
}

TEST(SentencePool, ExcludesAPromptButCountsItsPositions) {
  EXPECT_TRUE(tensors_near(pooled(Mode::cls, 1), tensor({{3, 6}, {7, 9}, {1, 1}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::mean, 1), tensor({{4, 3.5}, {7, 9}, {0, 0}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::weightedmean, 1), tensor({{21.0 / 5, 15.0 / 5}, {7, 9}, {0, 0}}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(pooled(Mode::mean, 9), zeros({3, 2}, f64), 1e-12));
}

TEST(SentencePool, ConcatenatesModesInTheGivenOrder) {
  const Tensor both = sentence_pool(hidden(), {}, std::vector{Mode::max, Mode::cls});
  EXPECT_TRUE(tensors_near(both, tensor({{5, 6, 1, 2}, {30, 10, 5, 5}, {1, 1, 1, 1}}, f64), 1e-12));
}

TEST(SentencePool, PassesGradcheckForEachMode) {
  const Mask mask = Mask::padding(tensor({{4, 4, 4}, {4, 4, 0}}, i64), 0);
  const std::vector<SentencePooling> modes(sentence_poolings().begin(), sentence_poolings().end());
  EXPECT_TRUE(gradients_match(tape::gradcheck([&](const Tensors& in) { return sentence_pool(in[0], mask, modes, 1); },
                                              {sample_distinct({2, 3, 2})})));
}

TEST(SentencePool, RefusesInputsAndMasksOfOtherShapes) {
  EXPECT_TAPE_ERROR(sentence_pool(zeros({2, 3}), {}, std::vector{Mode::mean}), ErrorKind::shape,
                    "sentence_pool: hidden must be [B, T, C], got [2, 3]");
  EXPECT_TAPE_ERROR(sentence_pool(zeros({2, 3, 4}), {}, {}), ErrorKind::config,
                    "sentence_pool: needs at least one mode");
  EXPECT_TAPE_ERROR(sentence_pool(zeros({2, 3, 4}), Mask::padding(ones({2, 4}, i64), 0), std::vector{Mode::mean}),
                    ErrorKind::shape, "sentence_pool: mask [2, 1, 1, 4] must be [2, 1, 1, 3] for hidden [2, 3, 4]");
}

TEST(SentenceModule, ShowsItsSettings) {
  EXPECT_EQ(SentenceModule({.kind = SentenceModuleKind::dense, .in = 4, .out = 3, .residual = true}).settings(),
            "dense 4 -> 3, residual");
  EXPECT_EQ(SentenceModule({.kind = SentenceModuleKind::layer_norm, .in = 4, .out = 4}).settings(), "layer norm 4");
  EXPECT_EQ(SentenceModule({.kind = SentenceModuleKind::dropout, .rate = 0.5}).settings(), "dropout 0.5");
  EXPECT_EQ(SentenceModule({}).settings(), "normalize");
  EXPECT_TAPE_ERROR(SentenceModule({.kind = SentenceModuleKind::dense, .in = 4}), ErrorKind::config,
                    "SentenceModule: out must be at least 1, got 0");
}

}  // namespace
}  // namespace tape::models
