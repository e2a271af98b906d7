#include "models/encoder_decoders/translate.h"

#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/reduce/reduce.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

const nlohmann::json& expected_translations() { return fixture_json("translate.json"); }

/// The model of tests/fixtures/make_generate.py: 13 words, 11 positions, f64.
std::unique_ptr<Transformer> lively_transformer() {
  const auto given = expected_translations();
  auto model = load<Transformer>(fixture_path("hugging_face/marian"));
  const NoGrad no_grad;
  for (auto& [name, parameter] : model->named_parameters())
    if (parameter.rank() == 2)
      parameter.mul_(given.at(name.find("layers") != std::string::npos ? "layers" : "table").get<double>());
  auto bias = given.at("bias").get<std::vector<double>>();
  bias[0] = given.at("end");
  model->output->bias.copy_(from_vector(bias));
  return model;
}

TEST(Translate, GivesTransformersResultForEachSourceAlone) {
  const auto given = expected_translations();
  const auto model = lively_transformer();
  const auto sources = given.at("sources").get<std::vector<Ids>>();
  std::set<size_t> lengths;
  for (const int64_t batch_tokens : {1, 14, 4096})
    for (const int64_t layer : {0, 1}) {
      const auto found = translate(*model, sources,
                                   {.n_best = 2,
                                    .forced_eos = false,
                                    .max_length = 9,
                                    .batch_tokens = batch_tokens,
                                    .alignments = true,
                                    .alignment_layer = layer});
      ASSERT_EQ(found.size(), sources.size());
      for (size_t row = 0; row < found.size(); ++row) {
        const auto& one = given.at("found")[row];
        ASSERT_EQ(found[row].size(), 2u);
        for (size_t rank = 0; rank < 2; ++rank) {
          const Translation& t = found[row][rank];
          EXPECT_EQ(t.tokens, one.at("tokens")[rank].get<Ids>()) << "row " << row;
          EXPECT_NEAR(t.score, one.at("scores")[rank].get<double>(), 1e-5);
          EXPECT_EQ(t.ended, t.tokens.size() < 9);
          const auto weights =
              one.at("alignments")[rank][static_cast<size_t>(layer)].get<std::vector<std::vector<double>>>();
          std::vector<double> flat;
          for (const auto& of_token : weights) flat.insert(flat.end(), of_token.begin(), of_token.end());
          EXPECT_TRUE(
              tensors_near(t.alignment, from_vector(flat, {std::ssize(t.tokens), std::ssize(sources[row])}), 1e-10))
              << "row " << row << ", rank " << rank << ", layer " << layer;
          lengths.insert(t.tokens.size());
        }
      }
    }
  EXPECT_GT(lengths.size(), 3u);
}

TEST(Translate, AlignsByTheSecondToLastLayer) {
  const auto model = lively_transformer();
  const std::vector<Ids> sources{{3, 4, 5}};
  const auto align = [&](std::optional<int64_t> layer) {
    return translate(*model, sources, {.alignments = true, .alignment_layer = layer})[0][0].alignment;
  };
  EXPECT_TRUE(tensors_equal(align({}), align(0)));
  EXPECT_FALSE(tensors_near(align({}), align(1), 1e-6));
  EXPECT_FALSE(translate(*model, sources)[0][0].alignment.defined());
  manual_seed(3);
  Transformer three({.src_vocab = 9, .tgt_vocab = 9, .d_model = 8, .layers = 3, .heads = 2, .d_ff = 8});
  three.eval();
  const auto of_three = [&](std::optional<int64_t> layer) {
    return translate(three, sources, {.max_length = 4, .alignments = true, .alignment_layer = layer})[0][0].alignment;
  };
  EXPECT_TRUE(tensors_equal(of_three({}), of_three(1)));
  EXPECT_FALSE(tensors_near(of_three({}), of_three(0), 1e-6));
}

TEST(Translate, ReturnsNothingForAnEmptySource) {
  const auto model = lively_transformer();
  const auto found = translate(*model, std::vector<Ids>{{}, {3, 4}, {}}, {.alignments = true});
  EXPECT_TRUE(found[0].empty());
  EXPECT_EQ(found[1].size(), 1u);
  EXPECT_TRUE(found[2].empty());
  EXPECT_TRUE(translate(*model, {}).empty());
}

TEST(Translate, CutsOffTranslationsThatDoNotEnd) {
  const auto model = lively_transformer();
  const NoGrad no_grad;
  model->output->bias.mutable_data<double>()[0] = -1e4;
  const auto found = translate(*model, std::vector<Ids>{{3}, {3, 4, 5, 6, 7}}, {.forced_eos = false, .max_length = 4});
  EXPECT_EQ(found[0][0].tokens.size(), 4u);
  EXPECT_FALSE(found[1][0].ended);
  // 3 S + 20 tokens are too many here: the positions are the limit.
  const auto whole = translate(*model, std::vector<Ids>{{3}}, {.forced_eos = false, .alignments = true})[0][0];
  EXPECT_EQ(whole.tokens.size(), 11u);
  EXPECT_TRUE(tensors_near(sum(whole.alignment, {1}), ones({11}, f64), 1e-12));
  const auto ended = translate(*model, std::vector<Ids>{{3}}, {.max_length = 4})[0][0];
  EXPECT_TRUE(ended.ended) << "because of the folder's forced_eos_token_id";
  EXPECT_EQ(ended.tokens.size(), 3u);
}

TEST(Translate, RefusesSourcesAndSettingsOutOfRange) {
  const auto model = lively_transformer();
  const auto refused = [&](const Ids& ids, const TranslateOptions& options) {
    translate(*model, std::vector<Ids>{{3}, ids}, options);
  };
  EXPECT_TAPE_ERROR(refused({4}, {.max_length = -1}), ErrorKind::config,
                    "translate: max_length must be at least 0 (0: by the source's length), got -1");
  EXPECT_TAPE_ERROR(refused({4}, {.batch_tokens = 0}), ErrorKind::config, "batch_tokens must be at least 1, got 0");
  EXPECT_TAPE_ERROR(refused({4}, {.alignment_layer = 2}), ErrorKind::config,
                    "translate: alignment_layer must be from 0 to 1, got 2");
  EXPECT_TAPE_ERROR(refused(Ids(12, 3), {}), ErrorKind::shape,
                    "translate: source 1 has 12 tokens, but the model has 11 positions");
  EXPECT_TAPE_ERROR(refused({4, -1}, {}), ErrorKind::index,
                    "translate: source 1 has id -1 at position 1, which is not in 0..12");
  EXPECT_TAPE_ERROR(refused({12}, {}), ErrorKind::index,
                    "translate: source 1 has the padding id 12 at position 0, which the model ignores");
}

TEST(Translate, NamesASourceWhoseScoresAreNaN) {
  const auto model = lively_transformer();
  const NoGrad no_grad;
  model->output->bias.fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TAPE_ERROR(translate(*model, std::vector<Ids>{{3}, {4}}), ErrorKind::numeric,
                    "translate: the model returns NaN or infinite scores for source 0");
}

}  // namespace
}  // namespace tape::models
