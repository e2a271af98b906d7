#include "train/tasks/masked_lm.h"

#include <filesystem>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "base/file.h"
#include "models/folders/folder.h"
#include "tests/support/tensors.h"
#include "tests/train/encoder_task.h"
#include "tests/train/labeled_files.h"
#include "tests/train/memory_limit.h"
#include "tests/train/run_log.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/data/encoded_lines.h"
#include "train/data/token_mask.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Lines in which each word determines the next: "seven eight seven eight", "satz schicht satz".
std::string telling_lines(int64_t count, uint64_t seed) {
  const std::vector<std::vector<std::string>> cycles{{"seven", "eight"}, {"satz", "schicht"}, {"gradients", "layers"}};
  Generator draws(seed);
  std::string text;
  for (int64_t line = 0; line < count; ++line) {
    const auto& cycle = cycles[static_cast<size_t>(draws.below(3))];
    const int64_t length = 6 + draws.below(5), from = draws.below(2);
    for (int64_t i = 0; i < length; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : " ", cycle[static_cast<size_t>((from + i) % 2)]);
    text += "\n";
  }
  return text;
}

class MaskedWords : public EncoderTaskTest<MaskedLMOptions, train_masked_lm> {
 protected:
  MaskedWords() : EncoderTaskTest(".txt", telling_lines(160, 1), telling_lines(40, 2)) {}
  MaskedLMOptions scratch() const {
    MaskedLMOptions options = from_scratch();
    options.max_length = 32;
    return options;
  }
};

TEST_F(MaskedWords, EvaluatesWithinAMemoryLimit) {
  expect_within_limit(0.3, [&](std::optional<int64_t> limit) {
    MaskedLMOptions options = scratch();
    options.run.out = run(limit ? "limited" : "free");
    options.run.steps = 2;
    std::swap(options.data, options.valid);  // more lines to validate than to train
    options.batch = 160;
    options.run.memory_limit = limit;
    return train(options).valid_loss;
  });
}

TEST_F(MaskedWords, LearnsFromScratch) {
  MaskedLMOptions options = scratch();
  options.run.epochs = 60;
  const MaskedLMResult result = train(options);
  EXPECT_GE(result.valid_accuracy, 0.6);  // guessing a word of the line is right half of the time
  EXPECT_LT(result.valid_loss, 0.8);
  EXPECT_EQ(result.run.step, 60 * 10);
  EXPECT_NEAR(result.run.evaluation->metrics.at("perplexity"), std::exp(result.valid_loss), 1e-9);
  EXPECT_THAT(printed_.str(), HasSubstr("160 training lines, 40 validation lines, 10 batches per epoch"));
  EXPECT_THAT(read_text(run() + "/config.json"), HasSubstr("BertForMaskedLM"));
  const auto tokenizer = text::load_tokenizer(run());
  EXPECT_EQ(tokenizer->token(tokenizer->special().mask), "<mask>");
  EXPECT_EQ(models::load<models::MaskedLanguageModel>(run())->base->vocab(), tokenizer->vocab_size());
}

TEST_F(MaskedWords, StartsFromATableOfMoreRowsThanTokens) {
  models::BertConfig config = small_bert(false);
  config.vocab += 20;
  manual_seed(7);
  models::MaskedLanguageModel padded{models::EncoderConfig(config)};
  padded.head->decoder->bias.mutable_data<float>()[config.vocab - 3] = 50;  // a row without a token
  models::save(folder_ / "padded", padded);
  add_tokenizer(folder_ / "padded");
  MaskedLMOptions options = with_init(folder_ / "padded");
  options.run.epochs = 1;
  options.run.lr = 1e-6;
  const MaskedLMResult result = train(options);
  EXPECT_TRUE(result.run.warnings.empty());
  EXPECT_EQ(result.run.evaluation->samples.size(), 8u);
  EXPECT_TRUE(fs::exists(run() + "/model.safetensors"));
}

TEST_F(MaskedWords, StartsFromAFolderAndKeepsItsHead) {
  MaskedLMOptions options = with_init(save_bert(folder_ / "bert"));
  options.run.epochs = 2;
  options.freeze = 2;
  const MaskedLMResult first = train(options);
  const auto before = models::load<models::Bert>(folder_ / "bert");
  const nn::StateDict now = models::load<models::MaskedLanguageModel>(run())->base->state_dict();
  for (const auto& [name, value] : before->state_dict()) {
    if (name.ends_with("key.bias") || name.starts_with("pooler.")) continue;
    EXPECT_EQ(static_cast<bool>(tensors_equal(now.at(name), value)), !name.starts_with("encoder.layers.2.")) << name;
  }
  MaskedLMOptions on = with_init(run());
  on.run = {.out = run("on"), .steps = 1, .lr = 1e-12};
  EXPECT_NEAR(train(on).valid_loss, first.valid_loss, 1e-5);
}

TEST_F(MaskedWords, MasksTokensAsBertDoes) {
  const auto tokenizer = text::load_tokenizer(save_bert(folder_ / "bert"));
  const TokenMask mask(*tokenizer, 0.15, 3, "x");
  const int64_t word = *tokenizer->find("layers"), hidden = tokenizer->special().mask;
  std::vector<int64_t> ids(40, word);
  ids.insert(ids.begin(), tokenizer->special().cls);
  ids.push_back(tokenizer->special().sep);
  std::map<int64_t, int64_t> chosen;
  double masks = 0, kept = 0, all = 0;
  for (int64_t line = 0; line < 4000; ++line) {
    const MaskedLine masked = mask(ids, line % 7, line);
    ASSERT_EQ(masked.places.size(), 6u);  // 15% of 40
    ASSERT_EQ(masked.words, std::vector<int64_t>(6, word));
    std::vector<int64_t> put_back = masked.ids;
    for (const int64_t place : masked.places) {
      int64_t& id = put_back[static_cast<size_t>(place)];
      EXPECT_TRUE(id == hidden || !tokenizer->is_special(id));
      masks += id == hidden ? 1 : 0;
      kept += id == word ? 1 : 0;
      ++all;
      ++chosen[place];
      id = word;
    }
    ASSERT_EQ(put_back, ids);
  }
  EXPECT_NEAR(masks / all, 0.8, 0.01);
  EXPECT_NEAR(kept / all, 0.1, 0.01);
  ASSERT_EQ(chosen.size(), 40u);  // all but the first and the last, which are special
  for (const auto& [place, times] : chosen) EXPECT_NEAR(static_cast<double>(times), 600, 120) << place;
}

TEST_F(MaskedWords, HasNewMasksInEachEpochAndReproducesThem) {
  const auto tokenizer = text::load_tokenizer(save_bert(folder_ / "bert"));
  const TokenMask mask(*tokenizer, 0.3, 3, "x"), other(*tokenizer, 0.3, 4, "x");
  const std::vector<int64_t> ids(30, *tokenizer->find("layers"));
  const MaskedLine first = mask(ids, 0, 5);
  EXPECT_EQ(mask(ids, 0, 5).ids, first.ids);
  EXPECT_NE(mask(ids, 1, 5).places, first.places);
  EXPECT_NE(mask(ids, 0, 6).places, first.places);
  EXPECT_NE(other(ids, 0, 5).places, first.places);
  // Even a very short line has a masked token.
  EXPECT_EQ(mask({ids[0]}, 0, 0).places.size(), 1u);
  EXPECT_FALSE(mask.has_words({tokenizer->special().cls, tokenizer->special().sep}));
}

TEST_F(MaskedWords, SplitsLongLines) {
  const auto tokenizer = text::load_tokenizer(save_bert(folder_ / "bert"));
  EncodedLines parts;
  for (const char* line : {"seven eight seven eight seven", "layers", ""})
    for (const std::vector<int64_t>& part : parts.tokens.parts(*tokenizer, line, 4)) parts.add(part);
  const int64_t cls = tokenizer->special().cls, sep = tokenizer->special().sep;
  const int64_t seven = *tokenizer->find("seven"), eight = *tokenizer->find("eight");
  ASSERT_EQ(parts.ids.size(), 4u);
  EXPECT_EQ(parts.tokens.cut(), 1);
  EXPECT_EQ(parts.ids[0], (std::vector<int64_t>{cls, seven, eight, sep}));
  EXPECT_EQ(parts.ids[2], (std::vector<int64_t>{cls, seven, sep}));
  EXPECT_EQ(parts.ids[3], (std::vector<int64_t>{cls, *tokenizer->find("layers"), sep}));
  EXPECT_EQ(parts.lengths[2].source, 3);
  EXPECT_TAPE_ERROR(parts.tokens.parts(*tokenizer, "layers", 2), ErrorKind::config,
                    "max_length must be more than the 2 tokens that the tokenizer adds, got 2");
}

TEST_F(MaskedWords, AppliesTheHeadToSomePositionsAsToAll) {
  manual_seed(2);
  models::MaskedLanguageModel model(small_bert());
  model.eval();
  const Tensor ids = tensor({{1, 2, 4, 7}, {3, 1, 5, 0}}, i64);
  const Mask mask = model.base->padding(ids);
  const Tensor all = reshape(model(ids, mask), {8, 450}), places = tensor({6, 1}, i64);
  EXPECT_TRUE(tensors_near(model.at(ids, mask, places), index_select(all, 0, places), 1e-5));
}

TEST_F(MaskedWords, ReadsRecords) {
  std::string records = "text\tnumber\n";
  for (int i = 0; i < 30; ++i) records += fmt::format("seven eight {}\t{}\n", i, i);
  write_text(folder_ / "texts.tsv", records);
  MaskedLMOptions options = scratch();
  options.data = folder_ / "texts.tsv";
  options.valid.clear();
  options.records = text::RecordFormat::tsv;
  options.run.steps = 1;
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr("27 training lines, 3 validation lines"));
}

TEST_F(MaskedWords, ResumesBitwiseExactly) {
  MaskedLMOptions options = scratch();
  options.run.steps = 24;  // more than two epochs
  options.run.dropout = 0.1;
  options.run.evaluate_every = 8;
  train(options);
  options.run.out = run("stopped");
  int64_t asked = 0;  // calls before each step
  options.run.interrupted = [&] { return ++asked == 14; };
  EXPECT_EQ(train(options).run.reason, StopReason::interrupted);
  options.run.interrupted = {};
  options.run.start = Start::resume;
  MaskedLMOptions other = options;
  other.mask_share = 0.3;
  EXPECT_THAT([&] { train(other); }, testing::ThrowsMessage<Error>(HasSubstr("mask_share 0.15 then, 0.3 now")));
  EXPECT_EQ(train(options).run.resumed_from, 13);
  EXPECT_EQ(read_text(run("stopped") + "/model.safetensors"), read_text(run() + "/model.safetensors"));
}

TEST_F(MaskedWords, OverfitsOneBatch) {
  printed_.str("");
  EXPECT_TRUE(examine_masked_lm(scratch(), printed_).can_learn);
  EXPECT_FALSE(fs::exists(run()));
}

TEST_F(MaskedWords, NamesAnInvalidOption) {
  MaskedLMOptions options = scratch();
  options.mask_share = 0;
  refuses(options, "train mlm: mask_share must be above 0 and at most 1, got 0");
  options = scratch();
  options.run.layer_decay = 0.9;
  refuses(options, "train mlm: layer_decay requires init");
  write_text(data(), " \n\n");
  refuses(scratch(), fmt::format("{}: the file has no text", data()));
  write_text(folder_ / "asks.jsonl", "{\"prompt\": \"seven\", \"completion\": \"eight\"}\n");
  options = scratch();
  options.data = folder_ / "asks.jsonl";
  options.records = text::RecordFormat::jsonl;
  refuses(options, fmt::format("{}: contains prompts with completions, but train mlm needs plain texts", options.data));
}

}  // namespace
}  // namespace tape::train
