#include "text/tokenizers/steps/json_parts.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/utf8.h"

namespace tape::text {
namespace {

[[noreturn]] void unknown_type(const JsonEntry& entry, const std::string& type) {
  entry.fail(fmt::format("type \"{}\" is not supported", type));
}

std::string base64(const JsonEntry& entry) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : entry.text()) {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (c == '=') break;
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) entry.fail("is not base64");
    bits = (bits << 6) | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>((bits >> count) & 0xFF));
  }
  return out;
}

/// {"String": "a text"} or {"Regex": "an expression"}.
Pattern pattern_of(const JsonEntry& entry) {
  const JsonEntry pattern = entry.at("pattern");
  if (!pattern.has("String")) return regular_expression(pattern.at("Regex").text(), pattern.where());
  if (pattern.at("String").text().empty()) return regular_expression("", pattern.where());
  return literal_pattern(pattern.at("String").text());
}

SplitBehavior behavior_of(const JsonEntry& entry) {
  const JsonEntry behavior = entry.at("behavior");
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kBehaviors{
      {{"Removed", SplitBehavior::removed},
       {"Isolated", SplitBehavior::isolated},
       {"MergedWithPrevious", SplitBehavior::merged_with_previous},
       {"MergedWithNext", SplitBehavior::merged_with_next},
       {"Contiguous", SplitBehavior::contiguous}}};
  const std::string name = behavior.text();
  for (const auto& [known, value] : kBehaviors)
    if (name == known) return value;
  behavior.fail(fmt::format("must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got \"{}\"",
                            clipped(name, 40)));
}

/// One character.
std::string character_of(const JsonEntry& entry) {
  std::string text = entry.text();
  if (code_points(text).size() != 1) entry.needs("one character");
  return text;
}

PrependScheme prepend_of(const JsonEntry& entry) {
  // Before tokenizers 0.14, files had a flag instead.
  if (!entry.has("prepend_scheme"))
    return entry.flag("add_prefix_space", true) ? PrependScheme::always : PrependScheme::never;
  const JsonEntry scheme = entry.at("prepend_scheme");
  const std::string name = scheme.text();
  if (name == "always") return PrependScheme::always;
  if (name == "first") return PrependScheme::first;
  if (name == "never") return PrependScheme::never;
  scheme.fail(fmt::format("must be always, first or never, got \"{}\"", name));
}

template <class Step>
std::vector<Step> steps_of(const JsonEntry& list, Step (*read)(const JsonEntry&)) {
  std::vector<Step> out;
  for (const JsonEntry& step : list.items()) {
    if (step.is_null()) step.needs("an object");
    out.push_back(read(step));
  }
  return out;
}

}  // namespace

Normalizer json_normalizer(const JsonEntry& entry) {
  if (entry.is_null()) return nullptr;
  const std::string type = entry.at("type").text();
  if (type == "Sequence") return normalizer_sequence(steps_of(entry.at("normalizers"), json_normalizer));
  if (type == "BertNormalizer") {
    const bool lowercase = entry.flag("lowercase", true);
    return bert_normalizer({.clean_text = entry.flag("clean_text", true),
                            .handle_chinese_chars = entry.flag("handle_chinese_chars", true),
                            .strip_accents = entry.flag("strip_accents", lowercase),
                            .lowercase = lowercase});
  }
  if (type == "NFC") return unicode_normalizer(UnicodeForm::nfc);
  if (type == "NFD") return unicode_normalizer(UnicodeForm::nfd);
  if (type == "NFKC") return unicode_normalizer(UnicodeForm::nfkc);
  if (type == "NFKD") return unicode_normalizer(UnicodeForm::nfkd);
  if (type == "Lowercase") return lowercase_normalizer();
  if (type == "StripAccents") return strip_accents_normalizer();
  if (type == "Strip") return strip_normalizer(entry.flag("strip_left", true), entry.flag("strip_right", true));
  if (type == "Prepend") return prepend_normalizer(entry.at("prepend").text());
  if (type == "Replace") return replace_normalizer(pattern_of(entry), entry.at("content").text());
  if (type == "Nmt") return nmt_normalizer();
  if (type == "ByteLevel") return byte_level_normalizer();
  if (type == "Precompiled") {
    // transformers writes this for a model without a character map.
    if (!entry.has("precompiled_charsmap")) return normalizer_sequence({});
    return precompiled_normalizer(base64(entry.at("precompiled_charsmap")), entry.where());
  }
  unknown_type(entry, type);
}

PreTokenizer json_pre_tokenizer(const JsonEntry& entry, bool& bytes) {
  const bool bytes_allowed = std::exchange(bytes, false);
  if (entry.is_null()) return nullptr;
  const std::string type = entry.at("type").text();
  if (type == "Sequence") {
    const std::vector<JsonEntry> steps = entry.at("pretokenizers").items();
    std::vector<PreTokenizer> out;
    for (const JsonEntry& step : steps) {
      if (step.is_null()) step.needs("an object");
      bytes = bytes_allowed && out.size() + 1 == steps.size();
      out.push_back(json_pre_tokenizer(step, bytes));
    }
    return pre_tokenizer_sequence(std::move(out));
  }
  if (type == "BertPreTokenizer") return bert_pre_tokenizer();
  if (type == "WhitespaceSplit") return whitespace_pre_tokenizer();
  if (type == "Whitespace") return word_pre_tokenizer();
  if (type == "Digits") return digits_pre_tokenizer(entry.flag("individual_digits", false));
  if (type == "Punctuation")
    return punctuation_pre_tokenizer(entry.has("behavior") ? behavior_of(entry) : SplitBehavior::isolated);
  if (type == "CharDelimiterSplit")
    return split_pre_tokenizer(literal_pattern(character_of(entry.at("delimiter"))), SplitBehavior::removed, false);
  if (type == "FixedLength") {
    const int64_t length = entry.integer("length", 5);
    if (length < 1) entry.at("length").fail(fmt::format("must be at least 1, got {}", length));
    return fixed_length_pre_tokenizer(length);
  }
  if (type == "Split") return split_pre_tokenizer(pattern_of(entry), behavior_of(entry), entry.flag("invert", false));
  if (type == "ByteLevel") {
    bytes = bytes_allowed;
    return byte_level_pre_tokenizer({.add_prefix_space = entry.flag("add_prefix_space", true),
                                     .split = entry.flag("use_regex", true),
                                     .write = !bytes});
  }
  if (type == "Metaspace")
    return metaspace_pre_tokenizer({.replacement = entry.at("replacement").text(),
                                    .prepend = prepend_of(entry),
                                    .split = entry.flag("split", true)});
  unknown_type(entry, type);
}

Decoder json_decoder(const JsonEntry& entry) {
  if (entry.is_null()) return nullptr;
  const std::string type = entry.at("type").text();
  if (type == "Sequence") return decoder_sequence(steps_of(entry.at("decoders"), json_decoder));
  if (type == "WordPiece") return word_piece_decoder(entry.text("prefix", "##"), entry.flag("cleanup", true));
  if (type == "ByteLevel") return byte_level_decoder();
  if (type == "Metaspace")
    return metaspace_decoder(entry.at("replacement").text(), prepend_of(entry) != PrependScheme::never);
  if (type == "Replace") return replace_decoder(pattern_of(entry), entry.at("content").text());
  if (type == "BPEDecoder") return suffix_decoder(entry.text("suffix", "</w>"));
  if (type == "CTC")
    return ctc_decoder(entry.text("pad_token", "<pad>"), entry.text("word_delimiter_token", "|"),
                       entry.flag("cleanup", true));
  if (type == "ByteFallback") return byte_fallback_decoder();
  if (type == "Fuse") return fuse_decoder();
  if (type == "Strip")
    return strip_decoder(entry.at("content").text(), entry.integer("start", 0), entry.integer("stop", 0));
  unknown_type(entry, type);
}

}  // namespace tape::text
