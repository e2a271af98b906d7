// Heads of encoders: their losses and errors.

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/heads/classify.h"
#include "models/heads/masked_language_model.h"
#include "models/heads/question_answerer.h"
#include "models/heads/token_classifier.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

RobertaConfig tiny_roberta() {
  return {.vocab = 11, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 6, .init_std = 0.3};
}

SequenceClassifierConfig sequence_labels(int64_t labels, std::optional<ProblemType> type = {}) {
  return {.encoder = tiny_roberta(), .num_labels = labels, .problem_type = type};
}

TEST(Roberta, CountsPositionsWithoutPadding) {
  manual_seed(4);
  Roberta model(tiny_roberta());
  model.eval();
  EXPECT_EQ((*model.embeddings->position)->weight.size(0), 8);
  // The same words, with padding before, between and after them.
  const Tensor alone = model(tensor({{4, 5, 6}}, i64));
  const Tensor padded = model(tensor({{1, 4, 1, 5, 6, 1}}, i64));
  EXPECT_TRUE(tensors_near(select(padded, 1, 1), select(alone, 1, 0), 1e-5));
  EXPECT_TRUE(tensors_near(select(padded, 1, 3), select(alone, 1, 1), 1e-5));
  EXPECT_TRUE(tensors_near(select(padded, 1, 4), select(alone, 1, 2), 1e-5));
  EXPECT_TAPE_ERROR(model(zeros({1, 7}, i64)), ErrorKind::shape,
                    "embeddings: Embeddings: positions 0 to 6 do not fit into max_length 6");
  EXPECT_TAPE_ERROR(model(zeros({1, 3}), Mask()), ErrorKind::dtype, "embeddings: Embeddings: ids must be i64, got f32");
}

TEST(Roberta, NamesTheInvalidValue) {
  RobertaConfig config = tiny_roberta();
  config.padding_id = 11;
  EXPECT_TAPE_ERROR(Roberta(config), ErrorKind::config, "Roberta: padding_id 11 is outside [0, 11)");
  config.max_length = 0;
  EXPECT_TAPE_ERROR(Roberta(config), ErrorKind::config, "Roberta: max_length must be at least 1, got 0");
}

TEST(EncoderModel, HasNoConfigurationIfItIsCustom) {
  const EncoderModel model(
      {.vocab = 5, .d_model = 4, .embeddings = {.max_length = 3}, .layers = {{.d_model = 4, .heads = 2, .d_ff = 4}}});
  EXPECT_TAPE_ERROR(config_of(model), ErrorKind::config,
                    "EncoderModel: transformers has no class for a custom encoder");
  EXPECT_TRUE(std::holds_alternative<RobertaConfig>(config_of(Roberta(tiny_roberta()))));
}

TEST(SequenceClassifier, ComputesTheSquaredErrorOfARegression) {
  SequenceClassifier one(sequence_labels(1)), two(sequence_labels(2, ProblemType::regression));
  EXPECT_EQ(one.loss(tensor({{1}, {3}}), tensor({2, 7})).item(), (1 + 16) / 2.0);
  EXPECT_EQ(one.loss(tensor({{1}, {3}}), tensor({{2}, {7}})).item(), (1 + 16) / 2.0);
  EXPECT_EQ(one.loss(tensor({{1}, {3}}), tensor({2, 7}, i64)).item(), (1 + 16) / 2.0);
  EXPECT_EQ(two.loss(tensor({{1, 2}}), tensor({{2, 4}})).item(), (1 + 4) / 2.0);
  EXPECT_TAPE_ERROR(two.loss(tensor({{1, 2}}), tensor({2})), ErrorKind::shape,
                    "SequenceClassifier: labels [1] do not match logits [1, 2]");
}

TEST(SequenceClassifier, SupportsSingleAndMultiLabelLosses) {
  SequenceClassifier model(sequence_labels(2));
  EXPECT_EQ(model.problem_type(i64), ProblemType::single_label_classification);
  EXPECT_EQ(model.problem_type(f32), ProblemType::multi_label_classification);
  const Tensor logits = tensor({{0, 0}, {0, 0}});
  EXPECT_NEAR(model.loss(logits, tensor({1, 0}, i64)).item(), std::log(2.0), 1e-6);
  EXPECT_NEAR(model.loss(tensor({{2, -1}}), tensor({{1, 1}})).item(),
              (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(1.0))) / 2, 1e-6);
  EXPECT_TAPE_ERROR(model.loss(logits, tensor({1}, i64)), ErrorKind::shape,
                    "SequenceClassifier: labels [1] do not match logits [2, 2]");
  SequenceClassifier single(sequence_labels(2, ProblemType::single_label_classification));
  EXPECT_TAPE_ERROR(single.loss(logits, zeros({2})), ErrorKind::dtype,
                    "SequenceClassifier: single-label labels must be i64, got f32");
}

TEST(Classify, AppliesTheFunctionOfTheProblemType) {
  manual_seed(2);
  const std::vector<std::vector<int64_t>> texts{{4, 5, 6}};
  const auto said = [&](int64_t labels, std::optional<ProblemType> type) {
    manual_seed(2);
    SequenceClassifier model(sequence_labels(labels, type));
    model.eval();
    const Tensor logits = model(tensor({{4, 5, 6}}, i64));
    return std::pair{classify(model, texts)[0], logits.to(f64).to_vector<double>()};
  };
  const auto [values, outputs] = said(2, ProblemType::regression);
  EXPECT_NEAR(values[1], outputs[1], 1e-6);
  const auto [each, logits] = said(3, ProblemType::multi_label_classification);
  EXPECT_NEAR(each[2], 1 / (1 + std::exp(-logits[2])), 1e-6);
  const auto [one, scores] = said(3, std::nullopt);
  EXPECT_NEAR(one[0] + one[1] + one[2], 1, 1e-6);
  EXPECT_NEAR(said(1, std::nullopt).first[0], said(1, std::nullopt).second[0], 1e-6);
}

TEST(TokenClassifier, ClassifiesEachToken) {
  manual_seed(2);
  TokenClassifier model({.encoder = tiny_roberta(), .num_labels = 3});
  EXPECT_EQ(model.config().label_names()[2], "LABEL_2");
  model.eval();
  const Tensor ids = tensor({{4, 5, 6}, {7, 8, 1}}, i64), logits = model(ids);
  EXPECT_EQ(to_string(logits.shape()), "[2, 3, 3]");
  EXPECT_TRUE(tensors_equal(logits, model(ids, Mask::padding(ids, 1))));
  const Tensor labels = tensor({{0, -100, 2}, {1, 1, -100}}, i64);
  const Tensor others = tensor({{0, 5, 2}, {1, 1, -100}}, i64);
  EXPECT_GT(model.loss(logits, labels).item(), 0);
  EXPECT_TAPE_ERROR(model.loss(logits, others), ErrorKind::index,
                    "cross_entropy: target 5 at position [0, 1] is outside [0, 3)");
  EXPECT_TAPE_ERROR(TokenClassifier({.encoder = tiny_roberta(), .num_labels = 2, .labels = {"a"}}), ErrorKind::config,
                    "TokenClassifier: 1 names for 2 labels");
}

TEST(QuestionAnswerer, ComputesTheLossOfStartsAndEnds) {
  manual_seed(2);
  QuestionAnswerer model({.encoder = tiny_roberta()});
  const Tensor logits = zeros({2, 4, 2});
  EXPECT_NEAR(model.loss(logits, tensor({0, 3}, i64), tensor({1, 3}, i64)).item(), std::log(4.0), 1e-6);
  // A position after the text is ignored, and one before it counts as the first.
  const Tensor scores = tensor({{{9, 0}, {0, 9}, {0, 0}, {0, 0}}, {{0, 0}, {0, 0}, {0, 0}, {0, 0}}});
  const Tensor all = model.loss(scores, tensor({-3, 9}, i64), tensor({1, 4}, i64));
  EXPECT_NEAR(all.item(), std::log(1 + 3 * std::exp(-9.0)), 1e-6);
  EXPECT_TAPE_ERROR(model.loss(logits, tensor({0}, i64), tensor({1, 3}, i64)), ErrorKind::shape,
                    "QuestionAnswerer: starts [1] do not match scores [2, 4]");
  EXPECT_TAPE_ERROR(model.loss(logits, tensor({0, 1}, i64), zeros({2})), ErrorKind::dtype,
                    "QuestionAnswerer: ends must be i64, got f32");
  EXPECT_TAPE_ERROR(model.loss(zeros({2, 4}), tensor({0, 1}, i64), tensor({0, 1}, i64)), ErrorKind::shape,
                    "QuestionAnswerer: logits must be [B, T, 2], got [2, 4]");
}

TEST(MaskedLanguageModel, IsTiedForAnyEncoder) {
  MaskedLanguageModel model(tiny_roberta());
  EXPECT_EQ(model.base->name(), "roberta");
  EXPECT_TRUE(model.head->decoder->weight.is(model.base->embeddings->token->weight));
  EXPECT_FALSE(model.base->pooler);
  EXPECT_EQ(model.loss(zeros({1, 2, 11}), tensor({{-100, -100}}, i64)).item(), 0);
}

}  // namespace
}  // namespace tape::models
