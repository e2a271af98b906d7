#include "models/sentence/sentence_encoder.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/embedding_loss.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "base/file.h"
#include "models/folders/folder.h"
#include "nn/init.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

MPNetConfig tiny_mpnet() {
  return {.vocab = 11, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 6, .init_std = 0.3};
}

TEST(SentenceEncoder, PoolsAndNormalizes) {
  manual_seed(2);
  SentenceEncoder model({.encoder = tiny_mpnet()});
  model.eval();
  const Tensor ids = tensor({{4, 5, 6, 7}, {8, 9, 1, 1}}, i64),
               mean = nn::mean_pool(model.base(ids), model.base->padding(ids));
  EXPECT_TRUE(tensors_near(model(ids), mean / sqrt(sum(square(mean), {-1}, Dims::keep)), 1e-6));
  EXPECT_TRUE(tensors_near(sum(square(model(ids)), {-1}), ones({2}), 1e-6));
  SentenceEncoder first({.encoder = tiny_mpnet(), .pooling = {SentencePooling::cls}, .normalize = false});
  first.eval();
  EXPECT_TRUE(tensors_equal(first(ids), select(first.base(ids, first.base->padding(ids)), 1, 0)));
  EXPECT_FALSE(first.base->pooler);
}

TEST(SentenceEncoder, KeepsZeroVectorsAndTheirGradientsFinite) {
  Tensor x = zeros({2, 3}).requires_grad_();
  const Tensor y = normalize(x, -1);
  EXPECT_TRUE(tensors_equal(y, zeros({2, 3})));
  sum(y).backward();
  EXPECT_TRUE(tensors_near(x.grad(), full({2, 3}, 1e12), 1e7));
}

TEST(SentenceEncoder, GivesEachSequenceItsVectorAlone) {
  manual_seed(2);
  SentenceEncoder model({.encoder = tiny_mpnet()});
  model.eval();
  const std::vector<std::vector<int64_t>> sequences{{4, 5}, {}, {6, 7, 8, 9, 10}, {3}};
  const Tensor all = embed(model, sequences, {.batch_tokens = 6});
  EXPECT_FALSE(all.requires_grad());
  EXPECT_TRUE(tensors_equal(all[1], zeros({8})));
  for (const size_t i : {size_t{0}, size_t{2}, size_t{3}})
    EXPECT_TRUE(tensors_near(all[static_cast<int64_t>(i)],
                             model(from_vector(sequences[i], {1, std::ssize(sequences[i])}))[0], 1e-5));
  EXPECT_TAPE_ERROR(embed(model, std::vector<std::vector<int64_t>>{{2, 2, 2, 2, 2, 2, 2}}), ErrorKind::shape,
                    "embed: sequence 0 has 7 tokens, but the model has 6 positions");
  EXPECT_TAPE_ERROR(embed(model, std::vector<std::vector<int64_t>>{{4, 99}}), ErrorKind::index,
                    "embed: sequence 0 has id 99 at position 1, which is not in 0..10");
  nn::init::constant_(model.base->embeddings->token->weight, NAN);
  EXPECT_TAPE_ERROR(embed(model, std::vector<std::vector<int64_t>>{{4, 5}}), ErrorKind::numeric,
                    "embed: the model returns NaN or infinity for sequence 0");
}

TEST(SentenceEncoder, IsSavedAndLoadedLikeInSentenceTransformers) {
  manual_seed(2);
  const TemporaryFolder folder;
  const Tensor ids = tensor({{4, 5, 6}}, i64);
  for (const std::vector<SentencePooling>& pooling :
       {std::vector{SentencePooling::mean}, std::vector{SentencePooling::cls},
        std::vector{SentencePooling::max, SentencePooling::mean},
        std::vector{SentencePooling::mean, SentencePooling::max}})
    for (const bool normalize : {true, false}) {
      SentenceEncoder model({.encoder = tiny_mpnet(), .pooling = pooling, .normalize = normalize});
      model.eval();
      const std::string path = folder / fmt::format("{}{}{}", normalize, to_string(pooling.front()), pooling.size());
      save(path, model);
      const auto again = load_sentence_encoder(path);
      EXPECT_EQ(again->config().pooling, pooling);
      EXPECT_EQ(again->config().normalize, normalize);
      EXPECT_TRUE(tensors_equal((*again)(ids), model(ids)));
      EXPECT_TRUE(tensors_equal((*load<MPNet>(path))(ids), model.base(ids)));
    }
}

TEST(SentenceEncoder, LoadsAMaskedLanguageModelsFolderWithoutItsHead) {
  manual_seed(2);
  const TemporaryFolder folder;
  const MPNet model(tiny_mpnet());
  save(folder.path(), model);
  const std::string config = read_text(folder / "config.json");
  write_text(folder / "config.json", replaced(config, "MPNetModel", "MPNetForMaskedLM"));
  EXPECT_TRUE(load<MPNet>(folder.path())->pooler);
  EXPECT_FALSE(load_sentence_encoder(folder.path())->config().normalize);
  // Or one that has only a model_type.
  write_text(folder / "config.json", replaced(config, "architectures", "x"));
  EXPECT_TRUE(load<EncoderModel>(folder.path())->pooler);
}

TEST(SentenceEncoder, NamesUnsupportedModulesAndKeys) {
  const TemporaryFolder folder;
  save(folder.path(), SentenceEncoder({.encoder = tiny_mpnet()}));
  const std::string modules = folder / "modules.json", good = read_text(modules);
  const auto refused = [&](const std::string& text, ErrorKind kind, const std::string& sentence) {
    write_text(modules, text);
    EXPECT_TAPE_ERROR(load_sentence_encoder(folder.path()), kind, fmt::format("{}: {}", modules, sentence));
  };
  refused("{}", ErrorKind::format, "not a list of modules");
  refused("[{}]", ErrorKind::format, "a module has no \"type\"");
  refused(replaced(good, "models.Pooling", "models.Dense"), ErrorKind::config,
          "the module \"sentence_transformers.models.Dense\" is not supported as module 1, which must be a Pooling");
  refused(replaced(good, "models.Normalize", "models.CNN"), ErrorKind::config,
          "the module \"sentence_transformers.models.CNN\" is not supported");
  refused(replaced(good, "sentence_transformers.models.Pooling", "custom.Pooling"), ErrorKind::config,
          "the module \"custom.Pooling\" is not supported");
  refused(replaced(good, "\"1_Pooling\"", "\"../1_Pooling\""), ErrorKind::format,
          "the path \"../1_Pooling\" leaves the folder");
  write_text(modules, good);
  const auto file_refused = [&](const char* name, const std::string& text, const std::string& sentence) {
    const std::string before = read_text(folder / name), file = write_text(folder / name, text);
    EXPECT_TAPE_ERROR(load_sentence_encoder(folder.path()), ErrorKind::config, fmt::format("{}: {}", file, sentence));
    write_text(file, before);
  };
  file_refused(
      "1_Pooling/config.json", "{\"pooling_mode\": \"sum\"}",
      "\"pooling_mode\" must be one or several of cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken, "
      "got \"sum\"");
  file_refused("config_sentence_transformers.json", "{\"default_prompt_name\": \"query\", \"prompts\": {}}",
               "\"default_prompt_name\" must be one of \"prompts\", got \"query\"");
  file_refused("config_sentence_transformers.json", "{\"model_type\": \"SparseEncoder\"}",
               "\"model_type\" must be \"SentenceTransformer\", got \"SparseEncoder\"");
  file_refused("sentence_bert_config.json", "{\"transformer_task\": \"fill-mask\"}",
               "\"transformer_task\" must be \"feature-extraction\", got \"fill-mask\"");
  const TemporaryFolder other;
  save(other.path(), SequenceClassifier({.encoder = tiny_mpnet()}));
  EXPECT_TAPE_ERROR(
      load_sentence_encoder(other.path()), ErrorKind::config,
      fmt::format("{}/config.json: contains a SequenceClassifier, but sentence embeddings require an encoder",
                  other.path()));
}

}  // namespace
}  // namespace tape::models
