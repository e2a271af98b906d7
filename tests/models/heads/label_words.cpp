#include "models/heads/label_words.h"

#include "autograd/create.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/tape/scope.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

TEST(LabelWords, GivesEachWordTheProbabilitiesOfItsFirstToken) {
  manual_seed(4);
  TokenClassifier model(
      {.encoder =
           BertConfig{.vocab = 13, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 16, .max_length = 6, .init_std = 1},
       .num_labels = 3});
  model.to(f64);
  model.eval();
  const std::vector<text::WordIds> sentences{
      {.ids = {2, 3, 4, 5}, .words = {0, 2}, .places = {1, 3}}, {}, {.ids = {2, 7}, .words = {0, 1}, .places = {1, 1}}};
  for (const int64_t batch_tokens : {1, 4096}) {
    const auto found = label_words(model, sentences, {.batch_tokens = batch_tokens});
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(found[1].empty());
    const NoGrad no_grad;
    for (const size_t sentence : {0u, 2u}) {
      const auto& [ids, words, places] = sentences[sentence];
      ASSERT_EQ(found[sentence].size(), 6u);
      const auto p = softmax(model(from_vector(ids, {1, std::ssize(ids)}), Mask()), -1).to_vector<double>();
      for (size_t word = 0; word < 2; ++word)
        for (size_t label = 0; label < 3; ++label)
          EXPECT_NEAR(found[sentence][word * 3 + label], p[static_cast<size_t>(places[word]) * 3 + label], 1e-12);
    }
  }
}

TEST(LabelWords, RefusesInvalidSentencesAndPositions) {
  TokenClassifier model(
      {.encoder = BertConfig{.vocab = 13, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 16, .max_length = 6}});
  const auto refuses = [&](const text::WordIds& sentence, ErrorKind kind, const std::string& message) {
    EXPECT_TAPE_ERROR(label_words(model, std::vector{sentence}), kind, message);
  };
  refuses({.ids = {2, 13}, .words = {0}, .places = {1}}, ErrorKind::index,
          "label_words: sequence 0 has id 13 at position 1, which is not in 0..12");
  refuses({.ids = {2}, .words = {0}, .places = {1}}, ErrorKind::index,
          "label_words: sentence 0 has 1 tokens, but a word at 1");
  refuses({.ids = std::vector<int64_t>(7, 1), .words = {}, .places = {}}, ErrorKind::shape,
          "label_words: sequence 0 has 7 tokens, but the model has 6 positions");
}

}  // namespace
}  // namespace tape::models
