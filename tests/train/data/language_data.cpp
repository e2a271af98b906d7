#include "train/data/language_data.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "models/decoders/gpt_neox.h"
#include "models/decoders/llama.h"
#include "tests/support/errors.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/language_model_test.h"
#include "text/corpus/token_file.h"
#include "text/tokenizers/characters.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/data/document_data.h"
#include "train/data/window_data.h"

namespace tape::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kNo = LanguageBatch::kIgnoreIndex;

TEST(PackRows, FillsRowsWithEachPartOnce) {
  std::vector<int64_t> lengths;
  Generator draws(3);
  for (int i = 0; i < 500; ++i) lengths.push_back(1 + draws.below(40));
  const PackedRows rows = pack_rows(lengths, 64, 7);
  std::vector<int64_t> seen;
  for (const std::vector<int64_t>& row : rows) {
    int64_t filled = 0;
    for (const int64_t part : row) filled += lengths[static_cast<size_t>(part)];
    EXPECT_LE(filled, 64);
    seen.insert(seen.end(), row.begin(), row.end());
  }
  std::ranges::sort(seen);
  std::vector<int64_t> all(500);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
  const int64_t tokens = std::reduce(lengths.begin(), lengths.end());
  EXPECT_LT(std::ssize(rows) * 64, tokens * 105 / 100) << "less than 5% is padding";
  EXPECT_EQ(rows, pack_rows(lengths, 64, 7));
  EXPECT_NE(rows, pack_rows(lengths, 64, 8));
  EXPECT_TRUE(pack_rows({}, 64, 7).empty());
}

class LanguageDataTest : public testing::Test {
 protected:
  /// Tokens 0, 1, ... on disk, in documents that end at `ends`; the first `read` of each are not targets.
  TokenStore store(const std::vector<int64_t>& ends, int64_t read = 1) {
    const std::string file = folder_ / "ids.bin";
    text::write_token_file(file, 1000, [&](const text::TokenWriter& write) {
      std::vector<int64_t> ids(static_cast<size_t>(ends.back()));
      std::iota(ids.begin(), ids.end(), 0);
      write(ids);
    });
    TokenStore made;
    const auto tokens = std::make_shared<const text::TokenFile>(file, 1000);
    made.train = made.valid = {tokens, 0, tokens->size()};
    for (int64_t begin = 0; const int64_t end : ends) {
      made.train_documents.push_back({.begin = begin, .end = end, .learned = begin + read});
      begin = end;
    }
    made.valid_documents = made.train_documents;
    return made;
  }
  TextSources texts(bool prompts) const {
    TextSources all;
    all.train = all.valid = {.file = "a.jsonl", .format = TextFormat::jsonl};
    all.prompts = prompts;
    return all;
  }

  const TemporaryFolder folder_;
};

TEST_F(LanguageDataTest, WindowsCoverAText) {
  const WindowData data(store({23}), {.context = 4, .batch = 2, .seed = 1});
  const LanguageBatch batch = data.training_batch({3, 11});
  EXPECT_THAT(batch.in, ElementsAre(3, 4, 5, 6, 11, 12, 13, 14));
  EXPECT_THAT(batch.out, ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  EXPECT_EQ(batch.learned, 8);
  ASSERT_EQ(data.valid_batches(), 2) << "windows of 4, and a last one of 2";
  EXPECT_EQ(data.valid_batch(0).rows, 5);
  EXPECT_THAT(data.valid_batch(1).in, ElementsAre(20, 21));
  EXPECT_THAT(data.valid_batch(1).out, ElementsAre(21, 22));
  const LanguagePrompt prompt = data.prompt(3, 2);
  EXPECT_THAT(prompt.begin, ElementsAre(0, 1, 2));
  EXPECT_THAT(prompt.rest, ElementsAre(3, 4));
  EXPECT_EQ(WindowData(store({21}), {.context = 4, .batch = 2, .seed = 1}).valid_batches(), 1);
}

TEST_F(LanguageDataTest, OnlyCompletionsOfPromptsAreTargets) {
  const DocumentData data(store({4, 10, 25}, 3), texts(true), {.context = 8, .batch = 2, .seed = 1});
  const LanguageBatch batch = data.training_batch({0, 1});
  EXPECT_EQ(batch.length, 5);
  EXPECT_THAT(batch.in, ElementsAre(0, 1, 2, 0, 0, 4, 5, 6, 7, 8));
  EXPECT_THAT(batch.out, ElementsAre(kNo, kNo, 3, kNo, kNo, kNo, kNo, 7, 8, 9));
  EXPECT_EQ(batch.learned, 4);
  EXPECT_TRUE(batch.positions.empty());
  const LanguageBatch cut = data.training_batch({2});
  EXPECT_THAT(cut.in, ElementsAre(10, 11, 12, 13, 14, 15, 16, 17)) << "a completion is truncated, not split";
  EXPECT_THAT(data.notes(),
              ElementsAre("a.jsonl: 1 of 3 documents cut to 8 tokens", "a.jsonl: 1 of 3 documents cut to 8 tokens"));
  const LanguagePrompt prompt = data.prompt(32, 200);
  EXPECT_THAT(prompt.begin, ElementsAre(0, 1, 2));
  EXPECT_THAT(prompt.rest, ElementsAre(3));
}

TEST_F(LanguageDataTest, PackedRowsSeparateDocuments) {
  const DocumentData data(store({4, 10, 25}), texts(false), {.context = 8, .batch = 1, .seed = 1, .pack = true});
  int64_t learned = 0;
  std::vector<int64_t> said;
  for (int64_t i = 0; i < data.plan(0).size(); ++i) {
    const LanguageBatch batch = data.training_batch(data.plan(0)[i]);
    EXPECT_EQ(batch.length, 8);
    learned += batch.learned;
    for (size_t t = 0; t < batch.in.size(); ++t) {
      if (batch.out[t] == kNo) continue;
      said.push_back(batch.out[t]);
      EXPECT_EQ(batch.out[t], batch.in[t] + 1);
      if (t > 0 && batch.documents[t] == batch.documents[t - 1])
        EXPECT_EQ(batch.positions[t], batch.positions[t - 1] + 1);
      else
        EXPECT_EQ(batch.positions[t], 0);
    }
  }
  // 3 + 5 + 14 tokens with a predecessor in their document; the longest is split in two.
  EXPECT_EQ(learned, 22);
  std::ranges::sort(said);
  std::vector<int64_t> expected;
  for (int64_t id = 0; id < 25; ++id)
    if (id != 0 && id != 4 && id != 10) expected.push_back(id);
  EXPECT_EQ(said, expected);
  EXPECT_THAT(data.notes(), testing::Contains("4 documents packed into 3 rows of 8 tokens"));
}

TEST_F(LanguageDataTest, RefusesDataThatCannotBePackedOrLearned) {
  TextSources plain = texts(false);
  plain.train.format = TextFormat::text;
  const LanguageDataOptions pack{.context = 8, .batch = 1, .pack = true};
  EXPECT_TAPE_ERROR(make_language_data(store({9}), plain, pack), ErrorKind::config,
                    "train lm: a.jsonl has no documents to pack: it contains a single text");
  plain.train.format = TextFormat::tokens;
  EXPECT_TAPE_ERROR(make_language_data(store({9}), plain, pack), ErrorKind::config,
                    "train lm: a.jsonl has no documents to pack: it contains tokens");
  EXPECT_TAPE_ERROR(DocumentData(store({1, 2, 3}), texts(false), pack), ErrorKind::config,
                    "a.jsonl: every document is too short: training needs at least two tokens in one");
  const LanguageDataOptions windows{.context = 8, .batch = 1};
  plain.valid.file = "b.txt";
  EXPECT_TAPE_ERROR(make_language_data(store({8}), plain, windows), ErrorKind::config,
                    "train lm: a.jsonl has 8 tokens for training, but context 8 needs at least 9");
  TokenStore short_valid = store({9});
  short_valid.valid = {std::make_shared<const text::TokenFile>(folder_ / "ids.bin", 1000), 0, 1};
  EXPECT_TAPE_ERROR(make_language_data(std::move(short_valid), plain, windows), ErrorKind::config,
                    "train lm: b.txt has 1 token for validation, which needs at least 2");
  EXPECT_TAPE_ERROR(WindowData(store({1}), {.context = 8, .batch = 1}), ErrorKind::config,
                    "train lm: the validation text has fewer than 2 tokens");
}

/// Mean loss per token with its gradients, for batches that are learned together.
std::map<std::string, std::vector<double>> learned_from(models::CausalLM& model,
                                                        const std::vector<LanguageBatch>& batches, double* loss) {
  int64_t tokens = 0;
  for (const LanguageBatch& b : batches) tokens += b.learned;
  for (const Tensor& parameter : model.parameters()) Tensor(parameter).zero_grad();
  *loss = 0;
  for (const LanguageBatch& b : batches) {
    const Tensor part = loss_of(model, b) * (static_cast<double>(b.learned) / static_cast<double>(tokens));
    *loss += part.item();
    part.backward();
  }
  std::map<std::string, std::vector<double>> gradients;
  for (const NamedTensor& named : model.named_parameters())
    gradients[named.name] = named.tensor.grad().to_vector<double>();
  return gradients;
}

/// Packed rows must have the same loss and gradients as the documents one by one.
void expect_packing_changes_nothing(models::CausalLM& model, const TokenStore& store, const TextSources& texts) {
  model.to(f64);
  const DocumentData packed(store, texts, {.context = 16, .batch = 2, .seed = 1, .pack = true});
  // Documents with prompts have a row each; those without are packed one per row.
  std::vector<LanguageBatch> rows, alone;
  for (int64_t i = 0; i < packed.plan(0).size(); ++i) rows.push_back(packed.training_batch(packed.plan(0)[i]));
  TextSources as_prompts = texts;
  as_prompts.prompts = true;
  const DocumentData single(store, as_prompts, {.context = 16, .batch = 1, .seed = 1});
  for (int64_t i = 0; i < single.plan(0).size(); ++i) alone.push_back(single.training_batch(single.plan(0)[i]));
  ASSERT_LT(rows.size(), alone.size());
  double packed_loss = 0, loss = 0;
  const auto of_packed = learned_from(model, rows, &packed_loss), expected = learned_from(model, alone, &loss);
  EXPECT_NEAR(packed_loss, loss, 1e-12);
  for (const auto& [name, gradient] : expected)
    for (size_t i = 0; i < gradient.size(); ++i)
      ASSERT_NEAR(of_packed.at(name)[i], gradient[i], 1e-12) << name << " at " << i;
}

TEST_F(LanguageDataTest, PackedDocumentsHaveTheLossAndGradientsOfSingleOnes) {
  const std::vector<int64_t> ends{5, 9, 20, 22, 33, 40};
  for (const int64_t read : {1, 2}) {
    manual_seed(2);
    models::Gpt gpt({.vocab = 40,
                     .d_model = 8,
                     .layers = 2,
                     .heads = 2,
                     .max_length = 16,
                     .dropout = 0,
                     .attention_dropout = 0,
                     .embedding_dropout = 0});
    expect_packing_changes_nothing(gpt, store(ends, read), texts(read > 1));
    models::Llama llama({.kind = models::LlamaKind::qwen3,
                         .vocab = 40,
                         .d_model = 8,
                         .layers = 2,
                         .heads = 2,
                         .kv_heads = 1,
                         .d_ff = 12,
                         .max_length = 16,
                         .window = 5});
    expect_packing_changes_nothing(llama, store(ends, read), texts(read > 1));
  }
}

}  // namespace
}  // namespace tape::train
