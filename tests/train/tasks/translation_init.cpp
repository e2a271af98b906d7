// `train translation` from folders of transformers' encoder-decoder classes: small models written by transformers in
// make_translators.py, with its losses.

#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "models/decoding/target_start.h"
#include "models/encoder_decoders/bart.h"
#include "models/encoder_decoders/t5.h"
#include "models/encoder_decoders/translate.h"
#include "models/folders/folder.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "tests/train/tiny_task.h"
#include "text/corpus/number_words.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/tasks/translation.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;

const nlohmann::json& translators() { return fixture_json("translators.json"); }

class TranslationInit : public testing::Test {
 protected:
  /// A folder with one of the tokenizers of tests/fixtures/ and the files of another folder there.
  std::string init_of(const std::string& tokenizer, const std::string& model = "") {
    fs::copy(fixture_path("tokenizers/" + tokenizer), folder_ / "init", fs::copy_options::recursive);
    if (!model.empty()) fs::copy(fixture_path(model), folder_ / "init", fs::copy_options::recursive);
    return folder_ / "init";
  }
  void write_pairs(const std::string& text) { write_text(folder_ / "pairs.tsv", text); }

  TranslationOptions options(const std::string& run, int64_t steps) {
    return {.run = {.out = folder_ / run, .steps = steps},
            .init = folder_ / "init",
            .train = {.tsv = folder_ / "pairs.tsv"},
            .valid = {.tsv = folder_ / "pairs.tsv"},
            .max_length = 160};
  }
  TranslationResult train(const TranslationOptions& given) { return train_translation(given, told_, {}); }

  const OneThread one_thread_;
  const TemporaryFolder folder_;
  std::ostringstream told_;
};

/// By name, with the fixture's expected values.
class TranslationFrom : public TranslationInit, public testing::WithParamInterface<std::string> {
 protected:
  TranslationFrom() {
    init_of(said_.at("tokenizer"), "translators/" + GetParam());
    std::string pairs;
    for (const auto& pair : translators().at("pairs"))
      pairs += fmt::format("{}\t{}\n", pair[0].get<std::string>(), pair[1].get<std::string>());
    write_pairs(pairs);
  }

  TranslationOptions options(const std::string& run, int64_t steps) {
    TranslationOptions given = TranslationInit::options(run, steps);
    given.languages = {.source = said_.at("source_language"), .target = said_.at("target_language")};
    given.prefix = said_.at("prefix");
    return given;
  }

  const nlohmann::json said_ = translators().at("models").at(GetParam());
};

TEST_P(TranslationFrom, HasTheLossOfTransformers) {
  TranslationOptions given = options("run", 1);
  given.run.lr = 1e-30;
  EXPECT_NEAR(train(given).valid_loss, said_.at("loss").get<double>(), 1e-9);
}

TEST_P(TranslationFrom, WritesAFolderOfItsClassAndLanguages) {
  TranslationOptions given = options("run", 2);
  given.run.lr = 1e-6;
  const TranslationResult result = train(given);
  const auto model = models::load<models::EncoderDecoder>(folder_ / "run");
  EXPECT_EQ(model->type_name(), models::load<models::EncoderDecoder>(given.init)->type_name());
  const auto tokenizer = text::load_tokenizer(folder_ / "run");
  const auto asked = text::load_tokenizer(given.init, given.languages);
  for (const char* line : {"one", "zwei Wörter"}) {
    EXPECT_EQ(tokenizer->encode(line).ids, asked->encode(line).ids);
    EXPECT_EQ(tokenizer->target().encode(line).ids, asked->target().encode(line).ids);
  }
  const models::TargetStart start = models::target_start(*model, *tokenizer);
  EXPECT_EQ(model->options().bos_id, start.bos) << "the folder determines how targets begin";
  EXPECT_EQ(model->options().forced_bos, start.forced_bos);
  const Sample& sample = result.run.evaluation->samples.front();
  const std::vector<std::vector<int64_t>> sources{tokenizer->encode(given.prefix + sample.input).ids};
  const auto found = models::translate(
      *model, sources,
      {.beams = 1, .bos = start.bos, .forced_bos = start.forced_bos, .vocabulary = tokenizer->target().vocab_size()});
  EXPECT_EQ(tokenizer->target().decode(found[0][0].tokens), sample.output);
}

TEST_P(TranslationFrom, ResumesBitwiseExactly) {
  const auto bytes = [&](const std::string& run) {
    return bytes_of_state(load_checkpoint(fmt::format("{}/checkpoint-4", folder_ / run)).model);
  };
  train(options("whole", 4));
  TranslationOptions given = options("parts", 4);
  int64_t asked = 0;
  given.run.interrupted = [&asked] { return ++asked > 2; };
  EXPECT_EQ(train(given).run.step, 2);
  given.run.interrupted = {};
  given.run.start = Start::resume;
  EXPECT_EQ(train(given).run.resumed_from, 2);
  EXPECT_EQ(bytes("parts"), bytes("whole"));
  given.run.steps = 6;
  given.prefix += "x";
  EXPECT_THROW(train(given), Error) << "accepted other sources";
}

INSTANTIATE_TEST_SUITE_P(Each, TranslationFrom, testing::Values("t5", "bart", "mbart", "mbart50", "nllb", "m2m100"),
                         [](const auto& each) { return each.param; });

/// A model's translations of twelve numbers that it has learned.
class TranslationLearns : public TranslationInit {
 protected:
  void expect_learned(const models::EncoderDecoder& model) {
    models::save(folder_ / "init", model);
    std::string pairs;
    for (int64_t n = 1; n <= 12; ++n) pairs += fmt::format("{}\t{}\n", text::german_number(n), text::english_number(n));
    write_pairs(pairs);
    TranslationOptions given = options("run", 150);
    given.max_length = 24;
    given.bleu_tokenizer = "char";
    given.label_smoothing = 0;
    given.run.lr = 5e-3;
    given.run.warmup = 10;
    given.run.evaluate_every = 50;
    EXPECT_TRUE(examine_translation(given, told_).can_learn);
    const TranslationResult result = train(given);
    EXPECT_LT(result.valid_loss, 0.5) << "from 5.6, with 280 tokens and more";
    for (const Sample& sample : result.run.evaluation->samples) EXPECT_EQ(sample.output, sample.reference);
  }
};

TEST_F(TranslationLearns, StartingFromAT5) {
  init_of("t5");
  manual_seed(1);
  expect_learned(models::T5({.vocab = 280,
                             .d_model = 32,
                             .layers = 1,
                             .decoder_layers = 1,
                             .heads = 2,
                             .head_width = 16,
                             .d_ff = 64,
                             .dropout = 0}));
}

TEST_F(TranslationLearns, StartingFromABart) {
  init_of("roberta");
  manual_seed(1);
  expect_learned(models::Bart({.vocab = 410,
                               .d_model = 32,
                               .layers = 1,
                               .heads = 2,
                               .d_ff = 64,
                               .decoder_layers = 1,
                               .decoder_heads = 2,
                               .decoder_d_ff = 64,
                               .max_length = 24,
                               .dropout = 0,
                               .init_std = 0.1}));
}

TEST_F(TranslationInit, RefusesUnsuitableFoldersAndLanguages) {
  write_pairs("eins\tone\n");
  const std::string init = init_of("m2m100", "translators/m2m100");
  const auto refused = [&](auto&& change, ErrorKind kind, const std::string& sentence) {
    TranslationOptions bad = options("bad", 2);
    change(bad);
    try {
      train(bad);
      ADD_FAILURE() << "accepted, instead of: " << sentence;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_THAT(error.what(), testing::StartsWith(sentence));
    }
  };
  refused([](auto& o) { o.languages = {.source = "de", .target = "tlh"}; }, ErrorKind::format,
          init + "/tokenizer_config.json: unknown language \"tlh\"; the tokenizer has af, am, ");
  refused([](auto& o) { o.init = {}, o.languages.target = "de"; }, ErrorKind::config,
          "train translation: languages and prefix require init");
  refused([](auto& o) { o.init = {}, o.prefix = "x"; }, ErrorKind::config,
          "train translation: languages and prefix require init");
  refused([](auto& o) { o.max_length = 161; }, ErrorKind::config,
          fmt::format("train translation: max_length must be at most 160, the positions of {}, got 161", init));
  std::string config = read_text(init + "/tokenizer_config.json");
  const size_t at = config.find("\"tgt_lang\"");
  ASSERT_NE(at, std::string::npos);
  write_text(init + "/tokenizer_config.json", config.replace(at, 10, "\"x\""));
  refused([](auto&) {}, ErrorKind::config,
          init + "/tokenizer_config.json: no target language: neither tgt_lang nor the caller sets one");
  fs::remove_all(init);
  init_of("t5", "translators/t5");
  refused([](auto& o) { o.languages.target = "de"; }, ErrorKind::config,
          init + ": the tokenizer has no languages to choose from (requested \"de\")");
  fs::remove_all(init);
  init_of("gpt2", "hugging_face/gpt2");
  refused([](auto&) {}, ErrorKind::config, init + "/config.json: contains a Gpt, but an encoder-decoder model ");
}

}  // namespace
}  // namespace tape::train
