// Compares with transformers; tests/fixtures/make_piece_folders.py and make_t5_tokenizer.py write the expected values.
#include "text/tokenizers/piece_tokenizer.h"

#include <filesystem>

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"

namespace tape::text {
namespace {

const Json& t5() { return fixture_json("t5_tokenizer.json"); }

void expect_as_transformers(const Tokenizer& tokenizer) {
  const Json &texts = t5().at("texts"), &pairs = t5().at("pair_texts");
  ASSERT_GT(texts.size(), 50u);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<int64_t> wanted = ids_of(t5().at("single")[i]);
    EXPECT_EQ(tokenizer.encode(texts[i].get<std::string>()).ids, wanted) << texts[i];
    EXPECT_EQ(tokenizer.decode(wanted), t5().at("decoded")[i].get<std::string>()) << texts[i];
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Encoding got = tokenizer.encode_pair(pairs[i][0].get<std::string>(), pairs[i][1].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(t5().at("pairs")[i])) << pairs[i];
    EXPECT_EQ(got.type_ids, std::vector<int64_t>(got.size(), 0));
  }
}

/// A folder with only a configuration and the model.
void write_folder(const TemporaryFolder& folder, const std::string& config) {
  write_text(folder / "spiece.model", read_text(fixture_path("tokenizers/t5/spiece.model")));
  write_text(folder / "tokenizer_config.json", config);
}

TEST(T5Tokenizer, MatchesTheIdsOfTransformers) { expect_as_transformers(*load_fixture("t5")); }

TEST(T5Tokenizer, DoesNotNeedAListOfItsSentinels) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 7})");
  const auto tokenizer = load_tokenizer(folder.path());
  expect_as_transformers(*tokenizer);
  EXPECT_EQ(tokenizer->find("<extra_id_0>"), tokenizer->vocab_size() - 1);
  EXPECT_EQ(tokenizer->find("<extra_id_6>"), tokenizer->vocab_size() - 7);
  EXPECT_EQ(tokenizer->special().pad, 0);
  EXPECT_EQ(tokenizer->special().eos, 1);
  write_folder(folder, R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 100000})");
  EXPECT_EQ(load_tokenizer(folder.path())->vocab_size(), tokenizer->vocab_size() + 100'000 - 7) << "the maximum";
}

TEST(T5Tokenizer, HasAHundredSentinelsByDefault) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5Tokenizer"})");
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->vocab_size(), load_fixture("t5")->vocab_size() + 93);
  EXPECT_EQ(tokenizer->token(tokenizer->vocab_size() - 100), "<extra_id_99>");
}

TEST(T5Tokenizer, AcceptsMoreTokensAfterItsSentinels) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 2, "additional_special_tokens": ["<new>"]})");
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->find("<new>"), tokenizer->vocab_size() - 1);
  EXPECT_EQ(tokenizer->find("<extra_id_0>"), tokenizer->vocab_size() - 2);
  const std::vector<int64_t> ids = tokenizer->encode("one<new>").ids;
  EXPECT_EQ(ids[ids.size() - 2], tokenizer->find("<new>"));
}

TEST(T5Tokenizer, RoundTripsThroughSaveAndLoad) {
  const TemporaryFolder folder;
  const auto tokenizer = load_fixture("t5");
  tokenizer->save(folder.path());
  const auto again = load_tokenizer(folder.path());
  expect_as_transformers(*again);
  EXPECT_EQ(again->vocab_size(), tokenizer->vocab_size());
  remove_tokenizer(folder.path());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 0);
}

TEST(T5Tokenizer, RefusesTooManySentinels) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 100001})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder.path()), ErrorKind::format,
                    folder / "tokenizer_config.json" + ": extra_ids: must be from 0 to 100000, got 100001");
}

const Json& piece_folders() { return fixture_json("piece_folders.json"); }

/// The folder for an entry of the fixture.
void write_entry(const TemporaryFolder& to, const Json& entry) {
  const std::string model = entry.at("model").get<std::string>();
  write_text(to / std::filesystem::path(model).filename().string(), read_text(fixture_path("tokenizers/" + model)));
  for (const auto& [name, content] : entry.at("files").items()) write_text(to / name, content.dump());
}

void expect_as_the_folder(const Tokenizer& tokenizer, const Json& entry) {
  const Json &texts = piece_folders().at("texts"), &pairs = piece_folders().at("pair_texts");
  EXPECT_EQ(tokenizer.vocab_size(), entry.at("size").get<int64_t>());
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<int64_t> ids = ids_of(entry.at("ids")[i]);
    EXPECT_EQ(tokenizer.encode(texts[i].get<std::string>()).ids, ids) << texts[i];
    EXPECT_EQ(tokenizer.decode(ids), entry.at("decoded")[i].get<std::string>()) << texts[i];
    EXPECT_EQ(tokenizer.decode(ids, false), entry.at("kept")[i].get<std::string>()) << texts[i];
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Encoding got = tokenizer.encode_pair(pairs[i][0].get<std::string>(), pairs[i][1].get<std::string>());
    EXPECT_EQ(got.ids, ids_of(entry.at("pairs")[i])) << pairs[i];
    EXPECT_EQ(got.type_ids, ids_of(entry.at("pair_types")[i])) << pairs[i];
  }
  const SpecialTokens& special = tokenizer.special();
  const Json& wanted = entry.at("special");
  for (const auto& [name, id] : {std::pair{"bos", special.bos},
                                 {"eos", special.eos},
                                 {"unk", special.unk},
                                 {"sep", special.sep},
                                 {"pad", special.pad},
                                 {"cls", special.cls},
                                 {"mask", special.mask}})
    EXPECT_EQ(id, wanted.at(name).get<int64_t>()) << name;
}

TEST(PieceTokenizer, FindsSpecialTokensAndFollowsFlagsLikeTransformers) {
  ASSERT_GE(piece_folders().at("folders").size(), 20u);
  for (const Json& entry : piece_folders().at("folders")) {
    SCOPED_TRACE(entry.at("files").dump());
    const TemporaryFolder folder;
    write_entry(folder, entry);
    expect_as_the_folder(*load_tokenizer(folder.path()), entry);
  }
}

TEST(PieceTokenizer, RoundTripsThroughSaveAndLoad) {
  for (const Json& entry : piece_folders().at("folders")) {
    SCOPED_TRACE(entry.at("files").dump());
    const TemporaryFolder folder, saved;
    write_entry(folder, entry);
    load_tokenizer(folder.path())->save(saved.path());
    expect_as_the_folder(*load_tokenizer(saved.path()), entry);
  }
}

TEST(PieceTokenizer, TakesItsClassFromConfigJsonByDefault) {
  const TemporaryFolder folder;
  write_text(folder / "spiece.model", read_text(fixture_path("tokenizers/t5/spiece.model")));
  EXPECT_NE(load_tokenizer(folder.path())->encode("a").ids.back(), 1) << "the sentencepiece library's tokenizer";
  write_text(folder / "config.json", R"({"model_type": "t5"})");
  EXPECT_EQ(load_tokenizer(folder.path())->encode("a").ids.back(), 1);
  write_text(folder / "config.json", R"({"model_type": "llama", "tokenizer_class": "T5TokenizerFast"})");
  EXPECT_EQ(load_tokenizer(folder.path())->encode("a").ids.back(), 1);
}

TEST(PieceTokenizer, NamesARequiredTokenThatNoFileDefines) {
  const TemporaryFolder folder;
  write_folder(folder, R"({"tokenizer_class": "T5Tokenizer", "eos_token": null})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder.path()), ErrorKind::format,
                    folder / "tokenizer_config.json" + ": eos_token is required, but no file defines it");
}

TEST(PieceTokenizer, RefusesPiecesWithTooManySplits) {
  std::string model;
  for (size_t length = 1; length <= 250; ++length) {
    const std::string name(length, 'a');
    std::string piece = fmt::format("\x0A{}{}", static_cast<char>(length & 0x7F), name);
    if (length > 127) piece = fmt::format("\x0A{}\x01{}", static_cast<char>((length & 0x7F) | 0x80), name);
    std::string size(1, static_cast<char>(piece.size() & 0x7F));
    if (piece.size() > 127) size = fmt::format("{}\x01", static_cast<char>((piece.size() & 0x7F) | 0x80));
    model += "\x0A" + size + piece;
  }
  const TemporaryFolder folder;
  write_text(folder / "tokenizer.model", model);
  write_text(folder / "tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  EXPECT_TAPE_ERROR(
      load_tokenizer(folder.path()), ErrorKind::format,
      folder / "tokenizer.model" + ": 250 pieces can be split into other pieces in more than 32 ways each");
}

}  // namespace
}  // namespace tape::text
