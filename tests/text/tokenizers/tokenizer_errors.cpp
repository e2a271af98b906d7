// Malformed files: each gives a specific message, and none crashes.
#include <filesystem>

#include <fmt/format.h>

#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/sentence_piece.h"
#include "text/tokenizers/steps/flat_map.h"

namespace tape::text {
namespace {

using MalformedTokenizer = TokenizerFolder;

class MalformedJson : public TokenizerFolder {
 protected:
  MalformedJson() : json_(fixture_json("tokenizers/bert_json/tokenizer.json")) {}

  /// Checks the message after "<folder>/tokenizer.json".
  void expect_refused(const std::string& sentence) const { expect_text_refused(json_.dump(), sentence); }
  void expect_text_refused(const std::string& text, const std::string& sentence) const {
    write("tokenizer.json", text);
    EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format, path("tokenizer.json") + sentence);
  }
  void use(const std::string& name) {
    json_ = Json::parse(read_text(fixture_path(fmt::format("tokenizers/{}/tokenizer.json", name))));
  }
  int64_t vocab_size() const { return static_cast<int64_t>(json_["model"]["vocab"].size()); }

  Json json_;
};

TEST_F(MalformedJson, NamesTheFileIfTheTextIsNotJson) {
  expect_text_refused("[]", ": not a JSON object");
  expect_text_refused(R"({"model": {"vocab": {"a": 0, "a": 1}}})", ": duplicate key \"a\"");
  expect_text_refused(std::string(R"({"a":)") + std::string(100'000, '['), ": nested deeper than 16");
  expect_text_refused("{}", ": \"model\" is missing");
  expect_text_refused(R"({"model": 3})", ": model: must be an object, got 3");
}

TEST_F(MalformedJson, NamesTheEntryOfAnUnsupportedType) {
  json_["model"]["type"] = "Other";
  expect_refused(": model: type \"Other\" is not supported");
  json_["model"]["type"] = "WordPiece";
  json_["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "Odd"}}}}};
  expect_refused(": normalizer.normalizers[1]: type \"Odd\" is not supported");
  json_["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "(a"}}}, {"content", ""}};
  expect_refused(": normalizer.pattern: the regular expression \"(a\": end pattern with unmatched parenthesis");
  json_["normalizer"] = nullptr;
  json_["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
  expect_refused(": pre_tokenizer: type \"UnicodeScripts\" is not supported");
  json_["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "often"}};
  expect_refused(": pre_tokenizer.prepend_scheme: must be always, first or never, got \"often\"");
  json_["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Kept"}};
  expect_refused(
      ": pre_tokenizer.behavior: must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got "
      "\"Kept\"");
  json_["pre_tokenizer"] = {{"type", "CharDelimiterSplit"}, {"delimiter", "ab"}};
  expect_refused(": pre_tokenizer.delimiter: must be one character, got \"ab\"");
  json_["pre_tokenizer"] = {{"type", "FixedLength"}, {"length", 0}};
  expect_refused(": pre_tokenizer.length: must be at least 1, got 0");
  json_["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  json_["post_processor"] = {{"type", "Other"}};
  expect_refused(": post_processor: type \"Other\" is not supported");
  json_["post_processor"] = nullptr;
  json_["decoder"] = {{"type", "Other"}};
  expect_refused(": decoder: type \"Other\" is not supported");
  json_["decoder"] = {{"cleanup", true}};
  expect_refused(": decoder: \"type\" is missing");
}

TEST_F(MalformedJson, NamesTokensIfIdsHaveGapsOrDuplicates) {
  const int64_t size = vocab_size();
  json_["model"]["vocab"]["[MASK]"] = -1;
  json_["added_tokens"] = Json::array();
  json_["post_processor"] = nullptr;
  expect_refused(fmt::format(": token \"[MASK]\" has id -1, {} tokens need ids 0 to {}", size, size - 1));
  json_["model"]["vocab"]["[MASK]"] = size;
  expect_refused(fmt::format(": token \"[MASK]\" has id {}, {} tokens need ids 0 to {}", size, size, size - 1));
  json_["model"]["vocab"]["[MASK]"] = 3;
  expect_refused(": tokens \"[MASK]\" and \"[SEP]\" share id 3");
  json_["model"]["vocab"]["[MASK]"] = 4.5;
  expect_refused(": model.vocab.\"[MASK]\": must be an integer, got 4.5");
  json_["model"]["vocab"]["[MASK]"] = "4";
  expect_refused(": model.vocab.\"[MASK]\": must be an integer, got \"4\"");
  json_["model"]["vocab"]["[MASK]"] = 4;
  json_["model"]["vocab"][""] = size;
  expect_refused(fmt::format(": the token with id {} is empty", size));
  json_["model"]["vocab"].erase("");
  json_["model"]["vocab"][std::string(100'001, 'x')] = size;
  expect_refused(fmt::format(": the token with id {} has 100001 bytes, at most 100000 are allowed", size));
}

TEST_F(MalformedJson, NamesABrokenAddedToken) {
  json_["added_tokens"][4]["id"] = 9;
  expect_refused(": added_tokens: \"[MASK]\" has id 9, in the vocabulary 4");
  json_["added_tokens"][4]["id"] = 4;
  json_["added_tokens"].push_back({{"content", "new"}, {"id", vocab_size() + 1}});
  if (json_["model"]["vocab"].contains("new")) GTEST_FAIL() << "the fixture has this token";
  expect_refused(fmt::format(": token \"new\" has id {}, {} tokens need ids 0 to {}", vocab_size() + 1,
                             vocab_size() + 1, vocab_size()));
  json_["added_tokens"][5] = {{"content", "new"}, {"id", vocab_size()}, {"special", 1}};
  expect_refused(": added_tokens[5].special: must be true or false, got 1");
  json_["added_tokens"][5] = {{"content", "new"}};
  expect_refused(": added_tokens[5]: \"id\" is missing");
}

TEST_F(MalformedJson, NamesABrokenWordPieceSetting) {
  json_["model"]["max_input_chars_per_word"] = -1;
  expect_refused(": model: max_input_chars_per_word must not be negative, got -1");
}

TEST_F(MalformedJson, NamesTheEntryOfABrokenTemplate) {
  json_["post_processor"]["special_tokens"]["[CLS]"]["ids"] = {99999};
  expect_refused(
      fmt::format(": post_processor.special_tokens.[CLS].ids[0]: id 99999 is not in 0..{}", vocab_size() - 1));
  json_["post_processor"]["special_tokens"].erase("[CLS]");
  expect_refused(": post_processor.special_tokens: \"[CLS]\" is missing");
  json_["post_processor"]["special_tokens"]["[CLS]"]["ids"] = {2};
  json_["post_processor"]["single"] = Json::array();
  expect_refused(": post_processor.single: must contain A once");
}

TEST_F(MalformedJson, NamesABrokenMerge) {
  use("roberta_json");
  json_["model"]["merges"].push_back({"a", "nowhere"});
  const size_t last = json_["model"]["merges"].size() - 1;
  expect_refused(fmt::format(": model: merge {} \"a nowhere\": \"nowhere\" is not in the vocabulary", last));
  json_["model"]["merges"][last] = {"!", "!"};
  expect_refused(fmt::format(": model: merge {} \"! !\": \"!!\" is not in the vocabulary", last));
  json_["model"]["merges"][last] = json_["model"]["merges"][0];
  EXPECT_THROW(load_tokenizer(folder_.path()), Error);
  json_["model"]["merges"][last] = "one";
  expect_refused(fmt::format(": model.merges[{}]: must be two tokens separated by a space, got \"one\"", last));
  json_["model"]["merges"][last] = {"a", "b", "c"};
  expect_refused(fmt::format(": model.merges[{}]: must be two tokens, got [\"a\",\"b\",\"c\"]", last));
  json_["model"]["merges"].erase(last);
  json_["model"]["dropout"] = 0.1;
  expect_refused(": model.dropout: is not supported");
}

TEST_F(MalformedJson, NamesTheEntryOfABrokenUnigramModel) {
  use("unigram_json");
  const int64_t size = vocab_size();
  json_["model"]["unk_id"] = size;
  expect_refused(fmt::format(": model.unk_id: {} is not in 0..{}", size, size - 1));
  json_["model"]["unk_id"] = 2;
  json_["model"]["vocab"][5] = {"a", "b"};
  expect_refused(": model.vocab[5][1]: must be a number, got \"b\"");
  json_["model"]["vocab"][5] = {"a"};
  expect_refused(": model.vocab[5]: must be a token and its score, got [\"a\"]");
  json_["model"]["vocab"][5] = json_["model"]["vocab"][6];
  const std::string token = json_["model"]["vocab"][6][0];
  expect_refused(fmt::format(": duplicate token \"{}\"", token));
}

TEST_F(MalformedJson, NamesAByteTokenThatIsNotAByte) {
  use("spm_bpe_json");
  const int64_t size = vocab_size();
  for (const char* token : {"<0x-1>", "<0xZZ>", "<0x123>"}) {
    json_["model"]["vocab"][token] = size;
    expect_refused(fmt::format(": model.vocab: \"{}\" is not a byte", token));
    json_["model"]["vocab"].erase(token);
  }
}

TEST_F(MalformedJson, NamesABrokenCharacterMap) {
  const auto use_map = [this](const std::string& base64) {
    json_["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", base64}};
  };
  use_map("AAA*");
  expect_refused(": normalizer.precompiled_charsmap: is not base64");
  use_map("AAA=");
  expect_refused(": normalizer: precompiled_charsmap: only 2 bytes");
  use_map("/////w==");
  expect_refused(": normalizer: precompiled_charsmap: a trie of 4294967295 bytes does not fit in 4");
}

TEST_F(MalformedTokenizer, NamesAFolderWithoutATokenizer) {
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::io,
                    folder_.path() +
                        ": no tokenizer found: neither source.spm and vocab.json, nor tokenizer.json, nor "
                        "vocab.txt, nor vocab.json and merges.txt, nor one *.model or *.spm file (0 found)");
  EXPECT_TAPE_ERROR(load_tokenizer(path("nowhere")), ErrorKind::io,
                    path("nowhere") + ": cannot list the folder: No such file or directory");
  std::filesystem::create_directories(path("vocab.txt"));
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::io, path("vocab.txt") + ": cannot read: Is a directory");
}

TEST_F(MalformedTokenizer, NamesABrokenLineOfTheVocabulary) {
  write("vocab.txt", "[UNK]\none\none\n");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format, path("vocab.txt") + ": duplicate token \"one\"");
  write("vocab.txt", "[UNK]\n\none\n");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("vocab.txt") + ": the token with id 1 is empty");
  write("vocab.txt", "[UNK]\r\none\r\n");
  EXPECT_EQ(load_tokenizer(folder_.path())->find("one"), 1);
  write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("tokenizer_config.json") + ": do_lower_case: must be true or false, got \"yes\"");
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "y"}}})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("tokenizer_config.json") + ": added_tokens_decoder.x: the key is not an id");
  write("tokenizer_config.json", R"({"cls_token": null})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("vocab.txt") + ": cls_token and sep_token are required");
}

TEST_F(MalformedTokenizer, NamesAVocabularyThatIsEmptyOrUtf16) {
  write("vocab.txt", "");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format, path("vocab.txt") + ": the vocabulary is empty");
  std::string wide;
  for (const char c : std::string("[UNK]\n[CLS]\n[SEP]\n")) wide += std::string{c, '\0'};
  write("vocab.txt", wide);
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("vocab.txt") + ": the text is UTF-16 (every other byte is NUL), expected UTF-8");
  write("vocab.txt", "\xFF\xFE" + wide);
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("vocab.txt") + ": line 1, byte 1: the text is UTF-16, expected UTF-8");
  std::filesystem::remove(path("vocab.txt"));
  write("vocab.json", "{}");
  write("merges.txt", "");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("vocab.json") + ": the vocabulary is empty");
}

TEST_F(MalformedTokenizer, NamesAClassThatWouldGiveOtherIds) {
  const auto expect_refused = [this](const std::string& name, const char* files) {
    write("tokenizer_config.json", Json{{"tokenizer_class", name}}.dump());
    EXPECT_TAPE_ERROR(
        load_tokenizer(folder_.path()), ErrorKind::format,
        fmt::format("{}: tokenizer_class {} is not supported with {}: save it with its fast tokenizer, which "
                    "writes tokenizer.json",
                    path("tokenizer_config.json"), name, files));
  };
  write("spiece.model", read_text(fixture_path("tokenizers/unigram/spiece.model")));
  for (const char* name :
       {"AlbertTokenizer", "PegasusTokenizer", "XLNetTokenizer", "DebertaV2Tokenizer", "NewTokenizer"})
    expect_refused(name, "a SentencePiece model");
  write("vocab.json", R"({"a": 0})");
  expect_refused("Speech2TextTokenizer", "a SentencePiece model");
  write("merges.txt", "");
  expect_refused("BlenderbotTokenizer", "vocab.json and merges.txt");
  for (const std::string name : {"RobertaTokenizer", "BartTokenizer"}) {
    write("tokenizer_config.json", Json{{"tokenizer_class", name}, {"sep_token", nullptr}}.dump());
    EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                      fmt::format("{}: {} has no sep_token", path("vocab.json"), name));
  }
  write("vocab.txt", "[UNK]\n");
  expect_refused("MPNetTokenizer", "vocab.txt");
}

TEST_F(MalformedTokenizer, NamesTheFileIfASentencePieceModelIsNotEnough) {
  const std::string model = read_text(fixture_path("tokenizers/unigram/spiece.model"));
  const auto expect_refused = [this](const Json& config, const std::string& sentence) {
    write("tokenizer_config.json", config.dump());
    EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format, sentence);
  };
  write("sentencepiece.bpe.model", model);
  const std::string no_class = ": token ids differ from piece ids, so " + path("tokenizer_config.json") +
                               " needs a tokenizer_class (such as XLMRobertaTokenizer)";
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format, path("sentencepiece.bpe.model") + no_class);
  std::filesystem::remove(path("sentencepiece.bpe.model"));
  write("spiece.model", model);
  EXPECT_EQ(load_tokenizer(folder_.path())->vocab_size(), SentencePiece(path("spiece.model")).vocab_size());
  expect_refused({{"tokenizer_class", "T5Tokenizer"}, {"extra_ids", -1}},
                 path("tokenizer_config.json") + ": extra_ids: must be from 0 to 100000, got -1");
  expect_refused({{"pad_token", "[PAD]"}}, fmt::format("{}: the token \"[PAD]\" is not a piece of {}",
                                                       path("tokenizer_config.json"), path("spiece.model")));
  expect_refused({{"added_tokens_decoder", {{"300", {{"content", "<new>"}}}}}},
                 fmt::format("{}: the added token \"<new>\" is not piece 300 of {}", path("tokenizer_config.json"),
                             path("spiece.model")));
  write("tokenizer_config.json", R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 0})");
  EXPECT_EQ(load_tokenizer(folder_.path())->encode("").ids, (std::vector<int64_t>{1}));
}

TEST_F(MalformedTokenizer, ReadsAddedTokensOfOlderReleases) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\n");
  write("added_tokens.json", R"({"<new>": 6, "<more>": 7})");
  write("special_tokens_map.json", R"({"additional_special_tokens": ["<more>"]})");
  const auto tokenizer = load_tokenizer(folder_.path());
  EXPECT_EQ(tokenizer->encode("one<new>one<more>").ids, (std::vector<int64_t>{2, 5, 6, 5, 7, 3}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("one<new>one<more>").ids), "one <new> one");
  write("added_tokens.json", R"({"<new>": 9})");  // determines only the order of the tokens
  EXPECT_EQ(load_tokenizer(folder_.path())->find("<new>"), 6);
}

TEST_F(MalformedTokenizer, NamesABrokenLineOfTheMerges) {
  write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  const auto expect_refused = [this](const std::string& merges, const std::string& sentence) {
    write("merges.txt", merges);
    EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format, path("merges.txt") + sentence);
  };
  expect_refused("#version: 0.2\na b\nab\n", ":3: \"ab\" is not two tokens separated by a space");
  expect_refused("a b c\n", ":1: \"a b c\" is not two tokens separated by a space");
  expect_refused(" b\n", ":1: \" b\" is not two tokens separated by a space");
  expect_refused("a c\n", ": merge 0 \"a c\": \"c\" is not in the vocabulary");
  expect_refused("a b\na b\n", ": merge 1 \"a b\" is a duplicate");
  write("merges.txt", "a b\n");
  const auto tokenizer = load_tokenizer(folder_.path());
  EXPECT_EQ(tokenizer->encode("ab z").ids, (std::vector<int64_t>{2}));  // bytes without a token are dropped
  write("vocab.json", R"({"a": 0, "b": 1, "ab": 2.5})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("vocab.json") + ": \"ab\": must be an integer, got 2.5");
}

TEST_F(MalformedTokenizer, NamesTheByteOfABrokenModel) {
  const std::string good = read_text(fixture_path("tokenizers/unigram/spiece.model"));
  const auto load = [](std::string bytes) { return SentencePiece::from_bytes(std::move(bytes), "m"); };
  EXPECT_TAPE_ERROR(load(""), ErrorKind::format, "m: no pieces");
  EXPECT_TAPE_ERROR(load("hello"), ErrorKind::format, "m: not a sentencepiece model (byte 3)");
  EXPECT_TAPE_ERROR(load("\x0A\x05xx"), ErrorKind::format, "m: needs 5 bytes, has 2 (byte 2)");
  EXPECT_TAPE_ERROR(load(std::string("\x0A\x03\x0A\x01\x00", 5)), ErrorKind::format,
                    "m: piece 0: the piece contains a NUL byte (byte 3)");
  EXPECT_TAPE_ERROR(load(std::string("\x0A\x02\x0A\x00", 4)), ErrorKind::format, "m: piece 0: the piece is empty");
  EXPECT_TAPE_ERROR(load(std::string("\x0A\x08\x0A\x01"
                                     "a\x15\x00\x00\xC0\x7F",
                                     10)),
                    ErrorKind::format, "m: piece 0: the score is not finite (byte 8)");
  // Cut at any byte, or with any byte of the pieces changed: an Error or a model, never a crash.
  for (size_t cut = 0; cut < good.size(); cut += 7) {
    try {
      load(good.substr(0, cut))->encode("one two");
    } catch (const Error&) {
    }
  }
  uint64_t state = 1;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    state = mix(state + 0x9E3779B97F4A7C15u);
    bytes[state % bytes.size()] = static_cast<char>(state >> 40);
    try {
      load(bytes)->encode("one two");
    } catch (const Error&) {
    }
  }
}

TEST_F(MalformedTokenizer, NamesACharacterMapWithOffsetsOutOfRange) {
  // A model without pieces: the map is checked before the pieces.
  const auto refused = [](const std::map<uint32_t, uint32_t>& units, const std::string& texts, const char* what) {
    std::string map("\x00\x04\x00\x00", 4);  // 256 units
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t unit = units.contains(i) ? units.at(i) : 0;
      for (int byte = 0; byte < 4; ++byte) map += static_cast<char>(unit >> (8 * byte) & 255);
    }
    map += texts;
    const auto field = [](char tag, const std::string& bytes) {
      return std::string{tag, static_cast<char>(bytes.size() % 128 + 128), static_cast<char>(bytes.size() / 128)} +
             bytes;
    };
    EXPECT_TAPE_ERROR(SentencePiece::from_bytes(field(0x1A, field(0x12, map)), "m"), ErrorKind::format, what);
  };
  const std::string b("b\0", 2);
  const uint32_t leads_to_96 = 'a' | 1 << 8 | 1 << 10, entry = uint32_t{1} << 31;
  refused({{'a', leads_to_96}, {96, entry | 1}}, b, "m: no pieces");
  refused({{'a', leads_to_96}, {96, entry | 2}}, b, "m: character map: an entry points past the strings");
  // Read as an entry although it is marked as a branch.
  refused({{'a', leads_to_96}, {96, 96}}, b, "m: character map: an entry points past the strings");
  refused({{'a', 'a' | 1 << 18}}, b, "m: character map: a branch leads out of the trie");
  refused({}, "b", "m: character map: the last string is not terminated");
  // A trie of eight bytes, four of which are missing.
  EXPECT_TAPE_ERROR(SentencePiece::from_bytes(std::string("\x1A\x0A\x12\x08\x08\x00\x00\x00", 8) + "bbbb", "m"),
                    ErrorKind::format, "m: character map: the trie does not fit");
}

TEST_F(MalformedTokenizer, NamesATokenMissingFromMariansVocabulary) {
  for (const char* name : {"source.spm", "target.spm"})
    write(name, read_text(fixture_path(fmt::format("tokenizers/marian/{}", name))));
  write("vocab.json", R"({"</s>": 0, "<pad>": 1})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("vocab.json") + ": \"<unk>\" is not in the vocabulary");
  write("source.spm", "x");
  write("vocab.json", R"({"</s>": 0, "<pad>": 1, "<unk>": 2})");
  EXPECT_TAPE_ERROR(load_tokenizer(folder_.path()), ErrorKind::format,
                    path("source.spm") + ": needs 1 bytes, has 0 (byte 1)");
}

}  // namespace
}  // namespace tape::text
