#include "train/tasks/embedding.h"

#include <cctype>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "base/file.h"
#include "models/folders/folder.h"
#include "models/sentence/sentence_encoder.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/encoder_task.h"
#include "tests/train/labeled_files.h"
#include "tests/train/run_log.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/data/encoded_lines.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using EmbeddingJson = nlohmann::ordered_json;
using testing::HasSubstr;

/// `count` pairs: two words, and the same two in reverse order with filler words between them.
std::string text_pairs(int64_t count, uint64_t seed) {
  const std::vector<std::string> things{"gradients", "layers", "seven", "eight", "satz", "schicht"},
      others{"that", "only", "once"};
  Generator draws(seed);
  std::string text;
  for (int64_t line = 0; line < count; ++line) {
    const int64_t a = draws.below(6), b = (a + 1 + draws.below(5)) % 6;
    const auto thing = [&](int64_t i) { return things[static_cast<size_t>(i)]; };
    text += fmt::format("{} {}\t{} {} {}\n", thing(a), thing(b), thing(b), others[static_cast<size_t>(draws.below(3))],
                        thing(a));
  }
  return text;
}

class TextEmbedding : public EncoderTaskTest<TextEmbeddingOptions, train_text_embedding> {
 protected:
  TextEmbedding() : EncoderTaskTest(".tsv", text_pairs(240, 1), text_pairs(24, 2)) {}
  TextEmbeddingOptions scratch() const { return from_scratch(); }
  EmbeddingJson json(const std::string& file) const { return EmbeddingJson::parse(read_text(run() + "/" + file)); }
};

TEST_F(TextEmbedding, LearnsFromScratch) {
  const TextEmbeddingResult result = train(scratch());
  // A bag of words is not enough: "seven eight" and "eight seven" are different texts.
  EXPECT_GE(result.valid_recall, 0.5);
  const std::vector<EmbeddingJson> evaluations = events_of(run(), "eval");
  ASSERT_EQ(evaluations.size(), 10u);
  EXPECT_LT(evaluations.back()["loss"].get<double>(), evaluations.front()["loss"].get<double>());
  EXPECT_EQ(result.run.step, 10 * 15);
  EXPECT_THAT(printed_.str(), HasSubstr("240 training pairs, 24 validation pairs, 15 batches per epoch\n"));
  EXPECT_THAT(printed_.str(),
              HasSubstr("second texts are duplicates: if both are in one batch, each counts as a wrong match"));
  EXPECT_THAT(printed_.str(), HasSubstr("pooling: mean\n"));
}

TEST_F(TextEmbedding, WritesAFolderForSentenceTransformers) {
  TextEmbeddingOptions options = scratch();
  options.run.steps = 2;
  options.pooling = nn::Pooling::first;
  options.max_length = 20;
  train(options);
  EXPECT_EQ(json("config.json")["architectures"][0], "BertModel");
  EXPECT_EQ(json("1_Pooling/config.json")["pooling_mode_cls_token"], true);
  EXPECT_EQ(json("1_Pooling/config.json")["pooling_mode_mean_tokens"], false);
  EXPECT_EQ(json("1_Pooling/config.json")["word_embedding_dimension"], 32);
  EXPECT_EQ(json("sentence_bert_config.json")["max_seq_length"], 20);
  EXPECT_EQ(json("config_sentence_transformers.json")["similarity_fn_name"], "cosine");
  ASSERT_EQ(json("modules.json").size(), 3u);
  EXPECT_EQ(json("modules.json")[1]["path"], "1_Pooling");
  EXPECT_EQ(json("modules.json")[2]["type"], "sentence_transformers.models.Normalize");
  EXPECT_FALSE(models::load<models::Bert>(run())->options().pooler);
  // A run that starts from it uses the same pooling.
  TextEmbeddingOptions on = with_init(run());
  on.run = {.out = run("on"), .steps = 1, .lr = 1e-12};
  const TextEmbeddingResult next = train(on);
  EXPECT_THAT(printed_.str(), HasSubstr("pooling: first\n"));
  EXPECT_NEAR(next.valid_loss, events_of(run(), "eval").back()["loss"].get<double>(), 1e-5);
}

TEST_F(TextEmbedding, StartsFromAFolder) {
  TextEmbeddingOptions options = with_init(save_bert(folder_ / "bert"));
  options.freeze = 1;
  options.run.epochs = 2;
  options.symmetric = true;
  train(options);
  const auto before = models::load<models::Bert>(folder_ / "bert"), after = models::load<models::Bert>(run());
  const nn::StateDict now = after->state_dict();
  for (const auto& [name, value] : before->state_dict()) {
    if (name.ends_with("key.bias") || name.starts_with("pooler.")) continue;
    const bool still = name.starts_with("embeddings.") || name.starts_with("encoder.layers.0.");
    EXPECT_EQ(static_cast<bool>(tensors_equal(now.at(name), value)), still) << name;
  }
  EXPECT_TRUE(fs::exists(run() + "/vocab.txt"));
}

TEST_F(TextEmbedding, ReadsTextsInLowerCaseIfItsModelDoes) {
  TextEmbeddingOptions options = scratch();
  options.run.out = run("model"), options.run.epochs = 1;
  train(options);
  write_text(run("model") + "/sentence_bert_config.json", R"({"max_seq_length": 24, "do_lower_case": true})");
  options = with_init(run("model"));
  options.run.epochs = 1;
  const double loss = train(options).valid_loss;
  for (const std::string& file : {data(), valid()}) {
    std::string text = read_text(file);
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    write_text(file, text);
  }
  options.run.out = run("upper");
  EXPECT_EQ(train(options).valid_loss, loss);
}

TEST_F(TextEmbedding, ReportsTheLossAndRecallOfItsVectors) {
  // Recall computed here from the saved model's vectors.
  TextEmbeddingOptions options = scratch();
  options.run.epochs = 4;
  const TextEmbeddingResult result = train(options);
  const auto model = models::load_sentence_encoder(run());
  const auto tokenizer = text::load_tokenizer(run());
  const text::ParallelCorpus pairs = text::read_parallel_tsv(valid());
  const auto vectors = [&](const LongList<std::string>& texts) {
    std::vector<std::vector<int64_t>> ids;
    for (const std::string& text : texts) ids.push_back(tokenizer->encode(text).ids);
    return models::embed(*model, ids);
  };
  const Tensor first = vectors(pairs.source), second = vectors(pairs.target);
  double right = 0;
  for (size_t i = 0; i < pairs.source.size(); ++i) {
    const auto vector = first[static_cast<int64_t>(i)].to_vector<float>();
    size_t best = 0;
    double most = -2;
    for (size_t j = 0; j < pairs.source.size(); ++j) {
      const auto other = second[static_cast<int64_t>(j)].to_vector<float>();
      double cosine = 0;
      for (size_t c = 0; c < vector.size(); ++c) cosine += double{vector[c]} * double{other[c]};
      if (cosine > most + 1e-6) most = cosine, best = j;
    }
    right += pairs.target[best] == pairs.target[i] ? 1 : 0;
  }
  EXPECT_NEAR(result.valid_recall, right / 24, 1e-9);
}

TEST_F(TextEmbedding, ReadsRecordsAndUsesSomeForValidation) {
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += fmt::format("{{\"q\": \"seven {}\", \"a\": \"eight {}\"}}\n", i, i);
  write_text(folder_ / "pairs.jsonl", lines);
  TextEmbeddingOptions options = scratch();
  options.data = folder_ / "pairs.jsonl";
  options.valid.clear();
  options.valid_fraction = 0.2;
  options.records = text::RecordFormat::jsonl;
  options.fields = {.source = "q", .target = "a"};
  options.run.steps = 1;
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr("16 training pairs, 4 validation pairs, 1 batches per epoch\n"));
}

TEST_F(TextEmbedding, ResumesBitwiseExactly) {
  TextEmbeddingOptions options = scratch();
  options.run.steps = 12;
  options.run.dropout = 0.1;
  options.run.evaluate_every = 4;
  train(options);
  options.run.out = run("stopped");
  int64_t asked = 0;  // calls before each step
  options.run.interrupted = [&] { return ++asked == 6; };
  EXPECT_EQ(train(options).run.reason, StopReason::interrupted);
  options.run.interrupted = {};
  options.run.start = Start::resume;
  TextEmbeddingOptions other = options;
  other.temperature = 0.1;
  EXPECT_THAT([&] { train(other); }, testing::ThrowsMessage<Error>(HasSubstr("temperature 0.05 then, 0.1 now")));
  const TextEmbeddingResult result = train(options);
  EXPECT_EQ(result.run.resumed_from, 5);
  EXPECT_EQ(read_text(run("stopped") + "/model.safetensors"), read_text(run() + "/model.safetensors"));
}

TEST_F(TextEmbedding, OverfitsOneBatch) {
  printed_.str("");
  write_text(data(), "seven\teight\ngradients\tlayers\nsatz\tschicht\nonly\tonce\n");
  EXPECT_TRUE(examine_text_embedding(scratch(), printed_).can_learn);
  EXPECT_FALSE(fs::exists(run()));
}

TEST_F(TextEmbedding, NamesAnInvalidOption) {
  TextEmbeddingOptions options = scratch();
  options.batch = 1;
  refuses(options, "train embedding: batch must be at least 2, since a pair is compared with others, got 1");
  options = scratch();
  options.temperature = 0;
  refuses(options, "train embedding: temperature must be a number > 0, got 0");
  options = scratch();
  options.run.memory_limit = 1 << 30;
  refuses(options,
          "train embedding: memory_limit would split batches, within which pairs are compared; use a smaller batch");
  options = scratch();
  options.freeze = 1;
  refuses(options, "train embedding: freeze requires init: a model from scratch has nothing to freeze");
  options = scratch();
  write_text(data(), "seven\teight\n");
  refuses(options, fmt::format("{}: training needs at least 2 pairs, got 1", data()));
  write_text(data(), "seven\teight\nonly\n");
  refuses(options, fmt::format("{}: line 2: 1 field, expected 2: source TAB target", data()), ErrorKind::format);
}

/// A pair alone on its rank would have a loss of 0.
TEST_F(TextEmbedding, NeedsTwoPairsPerRank) {
  const auto train_on_ranks = [this](int64_t batch) {
    run_ranks(3, [&](Communicator& ranks) {
      TextEmbeddingOptions options = scratch();
      options.batch = batch;
      options.run.ranks = std::shared_ptr<Communicator>(&ranks, [](Communicator*) {});
      std::ostringstream printed;
      train_text_embedding(options, printed, {});
    });
  };
  EXPECT_TAPE_ERROR(
      train_on_ranks(5), ErrorKind::config,
      "train embedding: batch must be at least 6 on 3 ranks, since each compares the pairs of its share, got 5");
  write_text(data(), text_pairs(5, 1));
  EXPECT_TAPE_ERROR(train_on_ranks(6), ErrorKind::config,
                    fmt::format("{}: training needs at least 6 pairs on 3 ranks, got 5", data()));
}

}  // namespace
}  // namespace tape::train
