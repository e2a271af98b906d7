#include "train/data/token_store.h"

#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"
#include "text/tokenizers/characters.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TokenStoreTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) { return write_text(folder_ / name, content); }
  std::string bin(const std::string& name, const std::vector<uint16_t>& ids) {
    return write(name, {reinterpret_cast<const char*>(ids.data()), 2 * ids.size()});
  }
  TokenStore open(const TextSources& texts, const std::string& identity = "a") {
    return TokenStoreFolder(folder_ / "run", alone_).open(texts, *tokenizer_, identity, 0.5);
  }
  static std::string text_of(const StoredTokens& tokens, const text::Tokenizer& tokenizer) {
    return tokenizer.decode(tokens.read(0, tokens.size()), false);
  }

  const TemporaryFolder folder_;
  SingleProcess alone_;
  const std::unique_ptr<text::ByteLevelBpe> tokenizer_ = text::character_tokenizer("abcdefghij \n?");
};

TEST_F(TokenStoreTest, SplitsATextIntoTrainingAndValidation) {
  const TextSources texts = find_texts({.text = write("a.txt", "abcdef\nghij"), .valid_fraction = 0.5}, alone_);
  const TokenStore store = open(texts);
  EXPECT_EQ(text_of(store.train, *tokenizer_), "abcde");
  EXPECT_EQ(text_of(store.valid, *tokenizer_), "f\nghij");
  EXPECT_THAT(store.train_documents, IsEmpty());
  EXPECT_EQ(std::filesystem::file_size(folder_ / "run/tokens/train.bin"), 10U) << "two bytes per token";
}

TEST_F(TokenStoreTest, StoresDocumentsWithTheirEnds) {
  const std::string path = write("a.jsonl", R"({"prompt": "ab?", "completion": " cd"}
{"prompt": "", "completion": "e"}
{"prompt": "f", "completion": " "}
{"prompt": "ij", "completion": "x"}
)");
  const TextSources texts = find_texts({.text = path, .valid_fraction = 0.25}, alone_);
  EXPECT_TRUE(texts.prompts);
  EXPECT_THAT(texts.notes, ElementsAre(fmt::format("{}: 1 of 4 documents skipped: empty completion", path)));
  const TokenStore store = open(texts);
  EXPECT_EQ(text_of(store.train, *tokenizer_), "ab? cd<|endoftext|>e<|endoftext|>");
  ASSERT_EQ(store.train_documents.size(), 2U);
  EXPECT_EQ(store.train_documents[0].end, 7);
  EXPECT_EQ(store.train_documents[0].learned, 3);
  EXPECT_EQ(store.train_documents[1].begin, 7);
  EXPECT_EQ(store.train_documents[1].learned, 8) << "the first token has no predecessor";
  ASSERT_EQ(store.valid_documents.size(), 1U);
  EXPECT_THAT(store.notes, ElementsAre(fmt::format("{}: 1 of 3 characters is unknown to the tokenizer, which drops it: "
                                                   "\"x\"",
                                                   path)));
}

TEST_F(TokenStoreTest, IsRebuiltIfBrokenOrMadeFromOtherInputs) {
  const TextSources texts =
      find_texts({.text = write("a.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"cx\"}\n"), .valid_fraction = 0.5}, alone_);
  const std::vector<std::string> notes = open(texts).notes;
  EXPECT_EQ(notes.size(), 1U);
  const std::string ids = folder_ / "run/tokens/train.bin", ends = folder_ / "run/tokens/train.documents";
  const auto when = [](const std::string& path) { return std::filesystem::last_write_time(path); };
  const auto long_ago = when(ids) - std::chrono::hours(1);
  const auto is_kept = [&](const std::string& identity) {
    std::filesystem::last_write_time(ids, long_ago);
    const TokenStore store = open(texts, identity);
    EXPECT_EQ(text_of(store.train, *tokenizer_), "ab<|endoftext|>");
    EXPECT_EQ(store.train_documents.size(), 1U);
    EXPECT_EQ(store.notes, notes);
    return when(ids) == long_ago;
  };
  EXPECT_TRUE(is_kept("a"));
  EXPECT_FALSE(is_kept("b"));
  EXPECT_TRUE(is_kept("b"));
  write_text(ids, "xx");
  EXPECT_FALSE(is_kept("b"));
  std::filesystem::remove(ends);
  EXPECT_FALSE(is_kept("b"));
  write_text(folder_ / "run/tokens/tokens.json", "{\"made_of\": 3}");
  EXPECT_FALSE(is_kept("b"));
  write_text(folder_ / "run/tokens/tokens.json", "{");
  EXPECT_FALSE(is_kept("b"));
}

TEST_F(TokenStoreTest, IsRebuiltForAnotherTokenizerOfTheSameSize) {
  const TextSources texts = find_texts({.text = write("a.txt", "bcdefghbcd"), .valid_fraction = 0.5}, alone_);
  open(texts);
  const auto other = text::character_tokenizer("bcdefghijz \n?");
  ASSERT_EQ(other->vocab_size(), tokenizer_->vocab_size());
  const TokenStore store = TokenStoreFolder(folder_ / "run", alone_).open(texts, *other, "a", 0.5);
  EXPECT_EQ(text_of(store.train, *other), "bcdef");
}

TEST_F(TokenStoreTest, UsesTokenFilesWithoutCopyingThem) {
  const TextSources texts = find_texts({.text = bin("a.bin", {1, 2, 3, 4, 5, 6})}, alone_);
  const TokenStore store = open(texts);
  EXPECT_THAT(store.train.read(0, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(store.valid.read(0, 3), ElementsAre(4, 5, 6));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/tokens"));
  const TextSources two = find_texts({.text = bin("a.bin", {1, 2, 3}), .valid = bin("b.bin", {7, 8})}, alone_);
  EXPECT_THAT(open(two).valid.read(0, 2), ElementsAre(7, 8));
}

TEST_F(TokenStoreTest, RefusesInvalidTokenFiles) {
  const TextSources odd = find_texts({.text = write("odd.bin", "abc")}, alone_);
  EXPECT_TAPE_ERROR(
      open(odd), ErrorKind::format,
      fmt::format(
          "{}: file size of 3 bytes is not a multiple of the token size: a vocabulary of 14 needs 2 bytes per token",
          folder_ / "odd.bin"));
  const TextSources outside = find_texts({.text = bin("a.bin", {1, 2, 14, 3})}, alone_);
  EXPECT_TAPE_ERROR(open(outside), ErrorKind::format,
                    fmt::format("{}: token 2 (byte 4) is 14, but the vocabulary has 14 tokens", folder_ / "a.bin"));
  const TextSources empty = find_texts({.text = write("empty.bin", "")}, alone_);
  EXPECT_TAPE_ERROR(
      open(empty), ErrorKind::config,
      fmt::format("{}: too short to keep a fraction of 0.5 for validation: 0 tokens", folder_ / "empty.bin"));
}

TEST_F(TokenStoreTest, RefusesTrainingAndValidationTextsOfDifferentKinds) {
  const std::string text = write("a.txt", "abc"),
                    prompts = write("b.jsonl", "{\"prompt\": \"a\", \"completion\": \"b\"}"),
                    ids = bin("c.bin", {1, 2});
  EXPECT_TAPE_ERROR(
      find_texts({.text = text, .valid = prompts}, alone_), ErrorKind::config,
      fmt::format("{} contains text, but {} contains prompts with completions: both must have the same kind", text,
                  prompts));
  EXPECT_TAPE_ERROR(find_texts({.text = ids, .valid = text}, alone_), ErrorKind::config,
                    fmt::format("{} contains tokens, but {} contains text: both must have the same kind", ids, text));
  const std::string none = write("none.csv", "text\n"), blank = write("blank.csv", "text,id\n ,1\n");
  EXPECT_TAPE_ERROR(find_texts({.text = none}, alone_), ErrorKind::config,
                    fmt::format("{}: the file has no documents", none));
  EXPECT_TAPE_ERROR(find_texts({.text = blank}, alone_), ErrorKind::config,
                    fmt::format("{}: every text is empty", blank));
}

/// Rank 0 tokenizes and reads everything; the others read only what they need.
TEST_F(TokenStoreTest, IsMadeByRank0ForAll) {
  const std::string path = write("a.txt", "abcdefghij");
  run_ranks(3, [&](Communicator& ranks) {
    const TextSources texts = find_texts({.text = path, .valid_fraction = 0.5}, ranks);
    EXPECT_EQ(texts.train.end, 5);
    const TokenStore store = TokenStoreFolder(folder_ / "run", ranks).open(texts, *tokenizer_, "a", 0.5);
    EXPECT_EQ(text_of(store.valid, *tokenizer_), "fghij");
  });
}

TEST_F(TokenStoreTest, IsTemporaryWithoutARunFolder) {
  const TextSources texts = find_texts({.text = write("a.txt", "abcdefghij"), .valid_fraction = 0.5}, alone_);
  const TokenStoreFolder folder("", alone_);
  EXPECT_EQ(folder.open(texts, *tokenizer_, "a", 0.5).train.size(), 5);
}

TEST(TokenFile, StoresIdsInTheNarrowestTypeForTheVocabulary) {
  const TemporaryFolder folder;
  for (const auto& [vocab, width] : {std::pair<int64_t, uintmax_t>(65'536, 2), {65'537, 4}, {1 << 20, 4}}) {
    const std::string path = folder / "a.bin";
    const std::vector<int64_t> ids{0, 1, 300, vocab - 1};
    text::write_token_file(path, vocab, [&](const text::TokenWriter& write) { write(ids); });
    EXPECT_EQ(std::filesystem::file_size(path), 4 * width);
    const text::TokenFile tokens(path, vocab);
    tokens.check();
    EXPECT_EQ(tokens.size(), 4);
    EXPECT_EQ(tokens.read(0, 4), ids);
    EXPECT_THAT(tokens.read(2, 1), ElementsAre(300));
    write_text(path, "");
    EXPECT_THROW(tokens.read(0, 4), Error) << "the file was shortened";
  }
}

}  // namespace
}  // namespace tape::train
