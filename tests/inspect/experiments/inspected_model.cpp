#include "inspect/experiments/inspected_model.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/io/npy.h"
#include "autograd/random.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/characters.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;

/// A folder with a small language model of characters.
class InspectedModelTest : public testing::Test {
 protected:
  InspectedModelTest() {
    const auto tokenizer = text::character_tokenizer("abc");
    manual_seed(3);
    const models::Gpt model(
        {.vocab = tokenizer->vocab_size(), .d_model = 8, .layers = 1, .heads = 2, .max_length = 200});
    models::save(folder_, model);
    tokenizer->save(folder_);
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(InspectedModelTest, BuildsAStudyFromAPlainText) {
  const InspectedModel subject(folder_, {.text = "abca", .logits = {"1:c"}});
  EXPECT_EQ(subject.title(), "Gpt: abca");
  EXPECT_EQ(subject.study().kind, "decoder");
  EXPECT_THAT(subject.study().texts.at(0).tokens, ElementsAre("a", "b", "c", "a"));
  const std::vector<PageOutput> outputs = subject.study().run();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].name.substr(0, 12), "logit of \"c\"");
}

TEST_F(InspectedModelTest, SupportsAnyDecoderOnlyModel) {
  const auto tokenizer = text::character_tokenizer("abc");
  models::save(folder_, models::Llama({.kind = models::LlamaKind::mistral,
                                       .vocab = tokenizer->vocab_size(),
                                       .d_model = 8,
                                       .layers = 1,
                                       .heads = 2,
                                       .kv_heads = 1,
                                       .d_ff = 12,
                                       .window = 2}));
  const InspectedModel subject(folder_, {.text = "abca", .losses = {"1"}});
  EXPECT_EQ(subject.title(), "Llama: abca");
  EXPECT_EQ(subject.study().run().size(), 2u);
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = "abca", .text_b = "ab"}), ErrorKind::config,
                    fmt::format("--text-b: {} contains a Llama, which reads one text", folder_));
}

/// A folder with a small model for the tokenizer of a fixture.
template <class Model, class Config>
void save_reader(const std::string& folder, const char* tokenizer, Config config) {
  const auto words = text::load_tokenizer(fixture_path(fmt::format("tokenizers/{}", tokenizer)));
  config.vocab = words->vocab_size();
  config.d_model = 8, config.layers = config.decoder_layers = 1, config.heads = 2, config.d_ff = 12;
  manual_seed(3);
  text::remove_tokenizer(folder);
  models::save(folder, Model(config));
  words->save(folder);
}

TEST_F(InspectedModelTest, SupportsAnyEncoderDecoderModel) {
  save_reader<models::T5>(folder_, "t5", models::T5Config{.head_width = 4});
  const InspectedModel t5(folder_, {.text = "one two", .text_b = "eins"});
  EXPECT_EQ(t5.study().kind, "encoder-decoder");
  EXPECT_EQ(t5.study().texts.at(1).tokens.front(), "<pad>");
  EXPECT_EQ(t5.study().run().size(), 1u);
  EXPECT_EQ(t5.title(), "T5: one two → eins");
  const InspectedModel translated(folder_, {.text = "one two"});
  EXPECT_FALSE(translated.study().texts.at(1).ids.empty());
  EXPECT_TRUE(translated.title().starts_with("T5: one two → ")) << translated.title();
  EXPECT_EQ(translated.title().find("<pad>"), std::string::npos) << translated.title();
}

TEST_F(InspectedModelTest, HasTheWholeTextAsItsTitle) {
  const std::string text(100, 'b');
  EXPECT_EQ(InspectedModel(folder_, {.text = text}).title(), fmt::format("Gpt: {}", text));
}

TEST_F(InspectedModelTest, ReadsTheLabelSmoothingOfTheTraining) {
  const auto smoothing = [&](const std::string& log, const std::string& model) {
    write_file(folder_ + "/log.jsonl", log);
    return InspectedModel(model, {.text = "abca"}).label_smoothing();
  };
  const std::string checkpoint = folder_ + "/checkpoint-20", other = folder_ + "/other";
  for (const std::string& inner : {checkpoint, other})
    std::filesystem::copy(folder_, inner, std::filesystem::copy_options::none);
  EXPECT_EQ(InspectedModel(folder_, {.text = "abca"}).label_smoothing(), std::nullopt) << "no log";
  const char* log = "{\"event\":\"start\",\"options\":{\"label_smoothing\":0.05}}\n{\"event\":\"step\"}\n";
  EXPECT_EQ(smoothing(log, folder_), 0.05);
  EXPECT_EQ(smoothing(log, folder_ + "/"), 0.05);
  EXPECT_EQ(smoothing(log, checkpoint), 0.05);
  EXPECT_EQ(smoothing(log, other), std::nullopt) << "the log of another folder";
  for (const char* without : {"", "{", "[]", "{\"event\":\"start\"}", "{\"options\":[]}", "{\"options\":{}}",
                              "{\"options\":{\"label_smoothing\":\"much\"}}"})
    EXPECT_EQ(smoothing(without, folder_), std::nullopt) << without;
}

TEST_F(InspectedModelTest, InsertsTheLanguageTokenOfATarget) {
  models::BartConfig config{.kind = models::BartKind::mbart, .max_length = 60};
  config.decoder_heads = 2, config.decoder_d_ff = 12;
  save_reader<models::Bart>(folder_, "mbart", config);
  const auto read = [&](std::optional<std::string> second) {
    return InspectedModel(folder_, {.text = "one two", .text_b = std::move(second)}).study().texts.at(1).tokens;
  };
  EXPECT_EQ(read("eins").at(0), "de_DE");
  EXPECT_EQ(read({}).at(0), "de_DE");
  save_reader<models::Bart>(folder_, "mbart50", config);
  for (const std::optional<std::string>& second : {std::optional<std::string>("eins"), std::optional<std::string>()}) {
    EXPECT_EQ(read(second).at(0), "</s>");
    EXPECT_EQ(read(second).at(1), "de_DE");
  }
  const InspectedModel subject(folder_, {.text = "one two", .text_b = "eins"});
  EXPECT_EQ(subject.beside(folder_).study().texts.at(1).ids, subject.study().texts.at(1).ids);
}

TEST_F(InspectedModelTest, RunsOtherModelsOverTheSameText) {
  const auto tokenizer = text::character_tokenizer("abc");
  manual_seed(4);
  const models::Gpt other({.vocab = tokenizer->vocab_size(), .d_model = 8, .layers = 1, .heads = 2, .max_length = 200});
  for (const char* name : {"checkpoint-20", "checkpoint-3"}) {
    models::save(folder_ + "/" + name, other);
    tokenizer->save(folder_ + "/" + name);
  }
  const InspectedModel subject(folder_, {.text = "abca"});
  EXPECT_TRUE(record_runs(subject, folder_, {}).empty());
  const auto names = [](const std::vector<Frame>& runs) {
    std::vector<std::string> all;
    for (const Frame& run : runs) all.push_back(run.name);
    return all;
  };
  const std::vector<Frame> film = record_runs(subject, folder_, {.film = true});
  EXPECT_THAT(names(film), ElementsAre("checkpoint-3", "checkpoint-20", folder_));
  EXPECT_EQ(film[0].outputs[0].value.item(), film[1].outputs[0].value.item());
  EXPECT_NE(film[0].outputs[0].value.item(), film[2].outputs[0].value.item());
  EXPECT_EQ(film[2].outputs[0].value.item(), record_frame(subject.study(), "").outputs[0].value.item());
  const std::string beside = folder_ + "/checkpoint-3", module = "encoder.layers.0.self_attention";
  std::vector<std::string> seen;
  const std::vector<Frame> runs = record_runs(
      subject, folder_, {.beside = {beside}, .cuts = {module + ":1"}, .progress = [&](const std::string& name) {
                           seen.push_back(name);
                         }});
  EXPECT_THAT(names(runs), ElementsAre(folder_, beside, "without head 1 of " + module));
  EXPECT_EQ(seen, names(runs));
  EXPECT_TAPE_ERROR(record_runs(InspectedModel(beside, {.text = "ab"}), beside, {.film = true}), ErrorKind::config,
                    fmt::format("--film: {} has no checkpoints", beside));
  EXPECT_TAPE_ERROR(record_runs(subject, folder_, {.cuts = {module}}), ErrorKind::config,
                    fmt::format("--cut: expected MODULE:HEAD, got \"{}\"", module));
  EXPECT_TAPE_ERROR(parse_head_ablation(":1"), ErrorKind::config, "--cut: expected MODULE:HEAD, got \":1\"");
}

TEST_F(InspectedModelTest, ComparesTokenClassifiersThatPredictDifferentLabels) {
  const auto tokenizer = text::character_tokenizer("abc");
  const models::BertConfig bert{
      .vocab = tokenizer->vocab_size(), .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 12};
  const std::string other = folder_ + "/other";
  for (const std::string& folder : {folder_, other}) {
    manual_seed(folder == other ? 8 : 3);
    models::save(folder, models::TokenClassifier({.encoder = bert, .num_labels = 4}));
    tokenizer->save(folder);
  }
  const InspectedModel subject(folder_, {.text = "abca"});
  const std::vector<int64_t> labels = subject.study().targets;
  ASSERT_NE(InspectedModel(other, {.text = "abca"}).study().targets, labels);
  for (const Frame& run :
       record_runs(subject, folder_, {.beside = {other}, .cuts = {"bert.encoder.layers.0.self_attention:0"}}))
    EXPECT_EQ(run.outputs[0].prediction->targets, labels) << run.name;
}

TEST_F(InspectedModelTest, ReadsACorruptedTextWithTheTargetsOfTheCleanText) {
  const InspectedModel subject(folder_, {.text = "abca", .losses = {"2"}});
  const Study corrupted = subject.corrupted("abba");
  EXPECT_TRUE(corrupted.corrupted);
  EXPECT_THAT(corrupted.texts.at(0).tokens, ElementsAre("a", "b", "b", "a"));
  const auto clean = subject.study().run(), other = corrupted.run();
  ASSERT_EQ(other.size(), clean.size());
  EXPECT_EQ(other[0].prediction->targets, clean[0].prediction->targets);
  EXPECT_EQ(other[1].name, clean[1].name);
  EXPECT_NE(other[1].value.item(), clean[1].value.item());
  const std::string module = "encoder.layers.0.self_attention";
  const std::vector<Frame> runs =
      record_runs(subject, folder_, {.corrupted = "abba", .patches = {module + ":1@2", "encoder.layers.0"}});
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[1].name, "corrupted");
  EXPECT_EQ(runs[2].name, "corrupted, clean " + module + ":1@2");
  EXPECT_EQ(runs[1].outputs[1].value.item(), other[1].value.item());
  EXPECT_NE(runs[2].outputs[1].value.item(), other[1].value.item());
  EXPECT_NEAR(runs[3].outputs[1].value.item(), clean[1].value.item(), 1e-6);
  EXPECT_TAPE_ERROR(subject.corrupted("abb"), ErrorKind::config,
                    "--corrupted: \"a b b\" has 3 tokens, but \"a b c a\" has 4: the counts must match");
  EXPECT_TAPE_ERROR(subject.corrupted("abca"), ErrorKind::config, "--corrupted: has the same tokens as --text");
  EXPECT_TAPE_ERROR(subject.corrupted("\xFF"), ErrorKind::format, "--corrupted: not UTF-8");
  EXPECT_TAPE_ERROR(record_runs(subject, folder_, {.patches = {module}}), ErrorKind::config,
                    "--patch: requires --corrupted, the run into which the clean run's activations are inserted");
}

TEST_F(InspectedModelTest, ParsesPatches) {
  const ActivationPatch whole = parse_activation_patch("encoder.layers.0"),
                        part = parse_activation_patch("decoder:3@12");
  EXPECT_EQ(whole.module, "encoder.layers.0");
  EXPECT_FALSE(whole.head || whole.position);
  EXPECT_EQ(part.module, "decoder");
  EXPECT_EQ(part.head, 3);
  EXPECT_EQ(part.position, 12);
  EXPECT_EQ(patch_name(part), "decoder:3@12");
  for (const char* text : {"", ":1", "a:b", "a@", "a@1:2", "@3"})
    EXPECT_TAPE_ERROR(parse_activation_patch(text), ErrorKind::config,
                      fmt::format("--patch: expected MODULE[:HEAD][@POSITION], got \"{}\"", text));
}

TEST_F(InspectedModelTest, RefusesOptionsThatDoNotFitTheModel) {
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = "ab\xFF"}), ErrorKind::format, "--text: not UTF-8");
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = "ab", .text_b = "c"}), ErrorKind::config,
                    fmt::format("--text-b: {} contains a Gpt, which reads one text", folder_));
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = "ab", .label = "good"}), ErrorKind::config,
                    fmt::format("--label: {} is not a classifier", folder_));
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = "ab", .logits = {"c"}}), ErrorKind::config,
                    "--logit: expected POSITION:TOKEN, got \"c\"");
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = "ab", .logits = {"0:x"}}), ErrorKind::config,
                    "--logit: \"x\" is not a token of the vocabulary");
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = std::string(129, 'a')}), ErrorKind::config,
                    "--text: 129 tokens; a page shows at most 128");
}

TEST_F(InspectedModelTest, SupportsImageModels) {
  const std::string model = fixture_path("hugging_face/vit_classifier"), base = fixture_path("hugging_face/vit");
  const std::string file = folder_ + "/cat.npy", other = folder_ + "/dog.npy";
  save_npy(file, randn({2, 4, 6}));
  save_npy(other, randn({1, 2, 4, 6}));
  const InspectedModel subject(model, {.image = file, .logits = {"0:dog"}});
  EXPECT_EQ(subject.title(), "ImageClassifier: cat.npy");
  EXPECT_EQ(subject.tokenizer(), nullptr);
  const std::vector<PageOutput> outputs = subject.study().run();
  EXPECT_EQ(outputs.at(1).name, "logit of \"dog\"");
  // The other image keeps the target of the first.
  const InspectedModel owl(model, {.image = file, .label = "owl"});
  const Study corrupted = owl.corrupted(other);
  EXPECT_TRUE(corrupted.corrupted);
  EXPECT_EQ(corrupted.run()[0].prediction->targets, std::vector<int64_t>{2});
  EXPECT_EQ(subject.beside(model).study().run()[0].prediction->targets, outputs[0].prediction->targets);
  EXPECT_EQ(InspectedModel(base, {.image = file}).study().run().at(0).name, "squared norm of the mean hidden state");

  EXPECT_TAPE_ERROR(subject.corrupted(file), ErrorKind::config, "--corrupted: has the same pixels as --image");
  EXPECT_TAPE_ERROR(
      InspectedModel(model, {.text = "a cat"}), ErrorKind::config,
      fmt::format("--text: {} contains a ImageClassifier, which reads an image: give --image FILE", model));
  EXPECT_TAPE_ERROR(InspectedModel(model, {}), ErrorKind::config,
                    fmt::format("--image: required, since {} contains a ImageClassifier, which reads an image: give a "
                                ".npy file of its pixels",
                                model));
  EXPECT_TAPE_ERROR(InspectedModel(base, {.image = file, .label = "owl"}), ErrorKind::config,
                    fmt::format("--label: {} is not a classifier", base));
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.text = "ab", .image = file}), ErrorKind::config,
                    fmt::format("--image: {} contains a Gpt, which reads a text", folder_));
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {}), ErrorKind::config,
                    fmt::format("--text: required, since {} contains a Gpt, which reads a text", folder_));
}

TEST_F(InspectedModelTest, RefusesAnImageWithMorePatchesThanAPageShows) {
  models::save(folder_, models::Vit({.image_size = {24},
                                     .patch_size = {2},
                                     .channels = 1,
                                     .d_model = 4,
                                     .layers = 1,
                                     .heads = 1,
                                     .d_ff = 4,
                                     .pooler = true}));
  save_npy(folder_ + "/large.npy", zeros({1, 24, 24}));
  EXPECT_TAPE_ERROR(InspectedModel(folder_, {.image = folder_ + "/large.npy"}), ErrorKind::config,
                    "--image: 145 patches including the class token; a page shows at most 128");
}

}  // namespace
}  // namespace tape::inspect
