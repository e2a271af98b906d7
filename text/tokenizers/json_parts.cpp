#include "text/tokenizers/json_parts.h"

#include <string_view>

#include <fmt/core.h>

#include "text/tokenizers/precompiled_normalizer.h"
#include "text/tokenizers/unicode_normalizer.h"

namespace tape::text {
namespace {

[[noreturn]] void unknown(const JsonEntry& entry, const std::string& type) {
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

NormalizerPtr replace_of(const JsonEntry& entry) {
  const JsonEntry pattern = entry.at("pattern");
  std::string content = entry.at("content").text();
  if (pattern.has("String")) {
    if (pattern.at("String").text().empty()) pattern.fail("is empty");
    return replace_normalizer(pattern.at("String").text(), std::move(content));
  }
  const std::string expression = pattern.at("Regex").text();
  if (expression != " {2,}") pattern.fail(fmt::format("the regular expression \"{}\" is not supported", expression));
  return squeeze_blanks_normalizer(std::move(content));
}

PrependScheme prepend_of(const JsonEntry& entry) {
  // Files before tokenizers 0.14 have a flag instead.
  if (!entry.has("prepend_scheme"))
    return entry.flag("add_prefix_space", true) ? PrependScheme::always : PrependScheme::never;
  const JsonEntry scheme = entry.at("prepend_scheme");
  const std::string name = scheme.text();
  if (name == "always") return PrependScheme::always;
  if (name == "first") return PrependScheme::first;
  if (name == "never") return PrependScheme::never;
  scheme.fail(fmt::format("must be always, first or never, got \"{}\"", name));
}

template <class Ptr, class Read>
std::vector<Ptr> steps_of(const JsonEntry& list, Read&& read) {
  std::vector<Ptr> out;
  for (const JsonEntry& step : list.items()) {
    if (step.is_null()) step.needs("an object");
    out.push_back(read(step));
  }
  return out;
}

}  // namespace

NormalizerPtr json_normalizer(const JsonEntry& entry) {
  if (entry.is_null()) return nullptr;
  const std::string type = entry.at("type").text();
  if (type == "Sequence") return normalizer_sequence(steps_of<NormalizerPtr>(entry.at("normalizers"), json_normalizer));
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
  if (type == "Replace") return replace_of(entry);
  if (type == "Precompiled") {
    // What transformers writes for a model without a character map.
    if (!entry.has("precompiled_charsmap")) return normalizer_sequence({});
    return precompiled_normalizer(base64(entry.at("precompiled_charsmap")), entry.where());
  }
  unknown(entry, type);
}

PreTokenizerPtr json_pre_tokenizer(const JsonEntry& entry, bool& byte_level) {
  if (entry.is_null()) return nullptr;
  const std::string type = entry.at("type").text();
  if (type == "Sequence")
    return pre_tokenizer_sequence(steps_of<PreTokenizerPtr>(
        entry.at("pretokenizers"), [&](const JsonEntry& step) { return json_pre_tokenizer(step, byte_level); }));
  if (type == "BertPreTokenizer") return bert_pre_tokenizer();
  if (type == "WhitespaceSplit") return whitespace_pre_tokenizer();
  if (type == "ByteLevel") {
    byte_level = true;
    return byte_level_pre_tokenizer(entry.flag("add_prefix_space", true), entry.flag("use_regex", true));
  }
  if (type == "Metaspace")
    return metaspace_pre_tokenizer({.replacement = entry.at("replacement").text(),
                                    .prepend = prepend_of(entry),
                                    .split = entry.flag("split", true)});
  unknown(entry, type);
}

DecoderPtr json_decoder(const JsonEntry& entry) {
  if (entry.is_null()) return nullptr;
  const std::string type = entry.at("type").text();
  if (type == "Sequence") return decoder_sequence(steps_of<DecoderPtr>(entry.at("decoders"), json_decoder));
  if (type == "WordPiece") return word_piece_decoder(entry.text("prefix", "##"), entry.flag("cleanup", true));
  if (type == "ByteLevel") return byte_level_decoder();
  if (type == "Metaspace")
    return metaspace_decoder(entry.at("replacement").text(), prepend_of(entry) != PrependScheme::never);
  if (type == "Replace") return replace_decoder(entry.at("pattern").at("String").text(), entry.at("content").text());
  if (type == "ByteFallback") return byte_fallback_decoder();
  if (type == "Fuse") return fuse_decoder();
  if (type == "Strip")
    return strip_decoder(entry.at("content").text(), entry.integer("start", 0), entry.integer("stop", 0));
  unknown(entry, type);
}

}  // namespace tape::text
