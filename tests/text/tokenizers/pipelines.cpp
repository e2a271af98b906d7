// Small tokenizer.json files; the expected values come from the tokenizers package.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "text/tokenizers/stream_decoder.h"
#include "text/tokenizers/tokenizer_json.h"

namespace tape::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int64_t>;

std::unique_ptr<Tokenizer> loaded(const Json& parts) {
  const TemporaryFolder folder;
  write_text(folder / "tokenizer.json", parts.dump());
  return TokenizerJson::load(folder.path());
}

/// A WordLevel model of <unk> and these words.
Json words(const std::vector<std::string>& tokens) {
  Json vocab{{"<unk>", 0}};
  for (size_t i = 0; i < tokens.size(); ++i) vocab[tokens[i]] = i + 1;
  return {{"type", "WordLevel"}, {"unk_token", "<unk>"}, {"vocab", vocab}};
}

Json added(int id, const std::string& content, const std::vector<std::string>& flags = {}) {
  Json out{{"id", id}, {"content", content}};
  for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized", "special"}) out[flag] = false;
  for (const std::string& flag : flags) out[flag] = true;
  return out;
}

TEST(AddedTokens, MayBeginInWhiteSpaceOfThePreviousOne) {
  const auto t =
      loaded({{"model", words({"a"})},
              {"added_tokens",
               Json::array({added(2, "<|user|>", {"rstrip"}), added(3, "  hi"), added(4, " ", {"lstrip", "rstrip"}),
                            added(5, "[M]", {"lstrip", "rstrip"}), added(6, " x", {"lstrip"})})}});
  const auto expect = [&t](const std::string& text, const Ids& ids, const std::vector<Range>& offsets) {
    const Encoding found = t->encode(text);
    EXPECT_EQ(found.ids, ids) << text;
    EXPECT_EQ(found.offsets, offsets) << text;
  };
  expect("<|user|>  hi", {2, 3}, {{0, 10}, {8, 12}});
  expect("a<|user|>  hi", {1, 2, 3}, {{0, 1}, {1, 11}, {9, 13}});
  expect("<|user|>   a", {2, 1}, {{0, 11}, {11, 12}});
  expect("a [M] [M] a", {1, 4, 5, 5, 1}, {{0, 1}, {1, 2}, {2, 6}, {6, 10}, {10, 11}});
  expect("<|user|> x", {2, 6}, {{0, 9}, {9, 10}});
  expect("<|user|>  x a", {2, 6, 4, 1}, {{0, 10}, {10, 11}, {11, 12}, {12, 13}});
  expect("a   a", {1, 4, 1}, {{0, 1}, {1, 4}, {4, 5}});
  expect("[M]   hi", {5, 3}, {{0, 6}, {4, 8}});
}

TEST(AddedTokens, MatchSingleWordsNextToTheSameCharactersAsThePackage) {
  const auto t = loaded({{"model", words({"a"})}, {"added_tokens", Json::array({added(2, "tag", {"single_word"})})}});
  int64_t joined = 0;
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (char32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    std::string character;
    append_utf8(point, character);
    const bool before = t->encode(character + "tag").ids == Ids{0};
    ASSERT_EQ(t->encode("tag" + character).ids == Ids{0}, before) << std::hex << static_cast<uint32_t>(point);
    if (!before) continue;
    ++joined;
    hash = (hash ^ point) * 1099511628211u;
  }
  EXPECT_EQ(joined, 144667);
  EXPECT_EQ(hash, 0x74E9E67363C9083F);
}

TEST(AddedTokens, AreDecodedInNormalizedForm) {
  const auto t =
      loaded({{"model", words({"a", "HI", "Q", "q"})},
              {"normalizer", {{"type", "Lowercase"}}},
              {"decoder", {{"type", "Fuse"}}},
              {"added_tokens", Json::array({added(2, "HI", {"normalized"}), added(3, "Q", {"normalized", "special"}),
                                            added(5, "<s>", {"special"})})}});
  EXPECT_EQ(t->encode("hi Q<s>").ids, (Ids{2, 0, 3, 5}));
  EXPECT_EQ(t->decode(Ids{1, 2}), "ahi");
  EXPECT_EQ(t->decode(Ids{1, 3}), "aq") << "its text is not a special token's";
  EXPECT_TRUE(t->is_special(3));
  EXPECT_EQ(t->decode(Ids{5, 1, 2}), "ahi");
  EXPECT_EQ(t->decode(Ids{5, 1, 2}, false), "<s>ahi");
}

TEST(AddedTokens, AreUnknownToTheModel) {
  const auto t = loaded({{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", Json::array()}}},
                         {"added_tokens", Json::array({added(1, "b", {"single_word"})})}});
  EXPECT_EQ(t->encode("aba").ids, (Ids{0, 0})) << "b is unknown to the model";
  EXPECT_EQ(t->encode("a b a").ids, (Ids{0, 1, 0}));
}

TEST(AddedTokens, DoNotIncludeAnUnknownTokenThatNoFileNames) {
  const auto t = loaded({{"model",
                          {{"type", "BPE"},
                           {"unk_token", "<unk>"},
                           {"vocab", {{"<unk>", 0}, {"<", 1}, {"u", 2}, {"n", 3}, {"k", 4}, {">", 5}}},
                           {"merges", Json::array()}}}});
  EXPECT_EQ(t->encode("<unk>").ids, (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(t->special().unk, 0);
}

Json byte_tokens(Json vocab) {
  for (const char* token : {"<0x23>", "<0xC3>", "<0xA9>"}) vocab[token] = vocab.size();
  return vocab;
}

TEST(BpePipelines, AlsoWriteThePrefixOfUnknownCharactersAsBytes) {
  Json model{{"type", "BPE"},
             {"unk_token", "<unk>"},
             {"byte_fallback", true},
             {"continuing_subword_prefix", "##"},
             {"vocab", byte_tokens({{"<unk>", 0}, {"a", 1}, {"##a", 2}})},
             {"merges", Json::array()}};
  const auto prefixed = loaded({{"model", model}});
  EXPECT_EQ(prefixed->encode("aéa").ids, (Ids{1, 3, 3, 4, 5, 2}));
  EXPECT_EQ(prefixed->encode("éa").ids, (Ids{4, 5, 2}));
  // The unknown token comes after the bytes, whatever the order in the text.
  EXPECT_EQ(prefixed->encode("xéya").ids, (Ids{3, 3, 4, 5, 0, 0, 2}));
  EXPECT_EQ(prefixed->encode("xyé").ids, (Ids{0, 3, 3, 4, 5, 0}));
  model.erase("continuing_subword_prefix");
  model["fuse_unk"] = true;
  const auto fused = loaded({{"model", model}});
  EXPECT_EQ(fused->encode("xéya").ids, (Ids{4, 5, 0, 1}));
  EXPECT_EQ(fused->encode("xaéya").ids, (Ids{0, 1, 4, 5, 0, 1}));
}

TEST(UnigramPipelines, RecognizeTheUnknownTokenByItsText) {
  Json vocab = Json::array({Json::array({"<unk>", -1.0}), Json::array({"a", -2.0})});
  for (int byte = 0; byte < 256; ++byte) vocab.push_back(Json::array({fmt::format("<0x{:02X}>", byte), -3.0}));
  const auto t =
      loaded({{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", true}, {"vocab", std::move(vocab)}}}});
  EXPECT_EQ(t->encode("<unk>").ids, (Ids{0}));
  EXPECT_EQ(t->encode("a<unk>a").ids, (Ids{1, 0, 1}));
  EXPECT_EQ(t->encode("<unk>x").ids, (Ids{62, 119, 112, 109, 64, 122})) << "together they are not a token";
  EXPECT_EQ(t->encode("<unk>x").offsets, std::vector<Range>(6, Range{0, 6})) << "each byte has the offsets of all";
}

Json bert(int cls, int sep) { return {{"type", "BertProcessing"}, {"cls", {"c", cls}}, {"sep", {"s", sep}}}; }

TEST(PostProcessors, ProcessThePreviousOutputInASequence) {
  const Json vocab = words({"c", "s", "C", "S", "a", "b"});
  Json roberta = bert(3, 4);
  roberta.update({{"type", "RobertaProcessing"}, {"trim_offsets", false}, {"add_prefix_space", false}});
  const auto both =
      loaded({{"model", vocab},
              {"post_processor", {{"type", "Sequence"}, {"processors", Json::array({bert(1, 2), roberta})}}}});
  EXPECT_EQ(both->encode("a").ids, (Ids{3, 1, 5, 2, 4}));
  EXPECT_EQ(both->encode_pair("a", "b").ids, (Ids{3, 1, 5, 2, 4, 4, 6, 2, 4}));
  EXPECT_EQ(both->encode_pair("a", "b").type_ids, Ids(9, 0));

  const auto text = [](const char* name, int type) { return Json{{"Sequence", {{"id", name}, {"type_id", type}}}}; };
  const auto token = [](const char* name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  };
  const Json named = {{"c", {{"id", "c"}, {"ids", {1}}, {"tokens", {"c"}}}},
                      {"s", {{"id", "s"}, {"ids", {2}}, {"tokens", {"s"}}}}};
  const Json pattern = {{"type", "TemplateProcessing"},
                        {"single", Json::array({token("c", 1), text("A", 1)})},
                        {"pair", Json::array({text("A", 1), token("s", 0), text("B", 0)})},
                        {"special_tokens", named}};
  const auto wrapped =
      loaded({{"model", vocab},
              {"post_processor", {{"type", "Sequence"}, {"processors", Json::array({pattern, bert(3, 4)})}}}});
  EXPECT_EQ(wrapped->encode("a").ids, (Ids{3, 1, 4, 5, 4}));
  EXPECT_EQ(wrapped->encode("a").type_ids, (Ids{0, 1, 0, 1, 1}));
  EXPECT_EQ(wrapped->encode_pair("a", "b").ids, (Ids{3, 5, 4, 2, 4, 6, 4}));
  EXPECT_EQ(wrapped->encode_pair("a", "b").type_ids, (Ids{0, 1, 0, 0, 1, 0, 1}));
}

TEST(Metaspace, PrependsOnlyBeforeTheFirstCharacterOfTheText) {
  const auto t = loaded({{"model", words({"x", "▁x"})},
                         {"normalizer", {{"type", "StripAccents"}}},
                         {"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}}},
                         {"added_tokens", Json::array({added(3, "T")})}});
  EXPECT_EQ(t->encode("x").ids, (Ids{2}));
  EXPECT_EQ(t->encode("\u0323x").ids, (Ids{1})) << "the mark is stripped";
  EXPECT_EQ(t->encode("Tx").ids, (Ids{3, 1}));
  EXPECT_EQ(t->encode("x\u0323").ids, (Ids{2}));
}

TEST(EmptyPatterns, MatchBetweenCharacters) {
  const Json replace{{"type", "Replace"}, {"pattern", {{"Regex", ""}}}, {"content", "a"}};
  EXPECT_EQ(loaded({{"model", words({"a"})}, {"normalizer", replace}})->encode("").ids, Ids{});
  for (const char* kind : {"Regex", "String"}) {
    const Json split{{"type", "Split"}, {"pattern", {{kind, ""}}}, {"behavior", "Isolated"}, {"invert", false}};
    EXPECT_EQ(loaded({{"model", words({"a", "b"})}, {"pre_tokenizer", split}})->encode("ab").ids, (Ids{1, 2})) << kind;
  }
}

std::unique_ptr<Tokenizer> with_bytes() {
  return loaded({{"model", words({"a", "<0xC3>", "<0xA9>", "<0x41>", "<0xE6>", "<0xBC>", "<0xA2>"})},
                 {"decoder", {{"type", "ByteFallback"}}}});
}

TEST(ByteFallback, DecodesEachByteOfAnInvalidRunToAReplacementCharacter) {
  const auto t = with_bytes();
  EXPECT_EQ(t->decode(Ids{2}), "\uFFFD");
  EXPECT_EQ(t->decode(Ids{2, 3}), "é");
  EXPECT_EQ(t->decode(Ids{2, 2}), "\uFFFD\uFFFD");
  EXPECT_EQ(t->decode(Ids{4, 2}), "\uFFFD\uFFFD") << "even though the first is a letter";
  EXPECT_EQ(t->decode(Ids{4, 2, 3, 2}), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(t->decode(Ids{1, 2, 1, 3}), "a\uFFFDa\uFFFD");
  EXPECT_EQ(t->decode(Ids{2, 3, 2, 3}), "éé");
}

TEST(ByteFallback, IsStreamedInWholeCharacters) {
  const auto t = with_bytes();
  const auto streamed = [&t](const Ids& ids) {
    std::vector<std::string> out;
    StreamDecoder decoder(*t);
    for (const int64_t id : ids) out.push_back(decoder.push(id));
    out.push_back(decoder.finish());
    return out;
  };
  using Parts = std::vector<std::string>;
  EXPECT_EQ(streamed({2, 3, 5, 6, 7, 5, 6, 7, 4}), (Parts{"", "é", "", "", "漢", "", "", "漢", "A", ""}));
  EXPECT_EQ(streamed({1, 5, 6}), (Parts{"a", "", "", "\uFFFD\uFFFD"})) << "the incomplete rest";
  // An invalid byte after characters that were already returned.
  EXPECT_EQ(streamed({2, 3, 3, 1}), (Parts{"", "é", "", "\uFFFDa", ""}));
}

}  // namespace
}  // namespace tape::text
