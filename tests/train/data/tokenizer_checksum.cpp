#include "train/data/tokenizer_checksum.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/path.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::train {
namespace {

std::string checksum_of(const std::string& folder) { return tokenizer_checksum(*text::load_tokenizer(folder)); }

TEST(TokenizerChecksum, IsThatOfTheSavedTokenizer) {
  const std::string all = fixture_path("tokenizers");
  std::vector<std::string> names = folder_entries(all);
  std::erase(names, "families");
  for (const std::string& name : folder_entries(join_path(all, "families"))) names.push_back("families/" + name);
  ASSERT_GT(names.size(), 30U);
  for (const std::string& name : names) {
    const TemporaryFolder saved;
    const auto tokenizer = text::load_tokenizer(join_path(all, name));
    tokenizer->save(saved.path());
    EXPECT_EQ(checksum_of(saved.path()), tokenizer_checksum(*tokenizer)) << name;
  }
}

TEST(TokenizerChecksum, DependsOnWhatATokenizerDoesWithTheSameTokens) {
  const TemporaryFolder folder;
  std::filesystem::copy(fixture_path("tokenizers/gpt2"), folder / "a");
  const std::string before = checksum_of(folder / "a");
  const std::string merges = folder / "a/merges.txt", text = read_text(merges);
  write_text(merges, text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  EXPECT_NE(checksum_of(folder / "a"), before) << "a pair is not merged any more";
  write_text(merges, text);
  EXPECT_EQ(checksum_of(folder / "a"), before);
  write_text(folder / "a/tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer", "eos_token": "!"})");
  EXPECT_NE(checksum_of(folder / "a"), before) << "documents end with another token";
  const std::string config = R"({"tokenizer_class": "GPT2Tokenizer")", with = folder / "a/tokenizer_config.json";
  write_text(with, config + "}");
  const std::string plain = checksum_of(folder / "a");
  write_text(with, config + R"(, "chat_template": "{{ messages }}", "padding_side": "left"})");
  EXPECT_EQ(checksum_of(folder / "a"), plain) << "keys that change no ids";
}

}  // namespace
}  // namespace tape::train
