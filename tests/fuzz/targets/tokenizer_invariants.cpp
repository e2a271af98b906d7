#include "tests/fuzz/targets/tokenizer_invariants.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/stream_decoder.h"

namespace tape::fuzz {
namespace {

void expect_good_encoding(const text::Tokenizer& tokenizer, const text::Encoding& encoding, size_t bytes) {
  const size_t size = encoding.size();
  expect(encoding.type_ids.size() == size && encoding.attention_mask.size() == size &&
             encoding.offsets.size() == size && encoding.special_tokens_mask.size() == size,
         "the members of an encoding differ in length");
  for (size_t i = 0; i < size; ++i) {
    expect(encoding.ids[i] >= 0 && encoding.ids[i] < tokenizer.vocab_size(), "id {} of {}", encoding.ids[i],
           tokenizer.vocab_size());
    expect(encoding.offsets[i].begin <= encoding.offsets[i].end && encoding.offsets[i].end <= bytes,
           "token {} is bytes [{}, {}) of {}", i, encoding.offsets[i].begin, encoding.offsets[i].end, bytes);
  }
}

/// Regular expressions from a file may exceed the step limit on a text.
template <class Check>
void unless_expression_fails(Check&& check) {
  try {
    check();
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("the regular expression \"") == std::string_view::npos) throw;
  }
}

}  // namespace

void check_tokenizer_invariants(const text::Tokenizer& tokenizer, const std::string& text, const std::string& folder,
                                bool saved) {
  const text::Encoding encoding = tokenizer.encode(text);
  expect_good_encoding(tokenizer, encoding, text.size());
  expect_good_encoding(tokenizer, tokenizer.encode_pair(text, text.substr(0, text.size() / 2)), text.size());
  for (const int64_t length : {1, 3}) {
    const auto cut = accepted([&] { return tokenizer.encode(text, {.max_length = length}); });
    if (cut) expect(std::ssize(cut->ids) <= length, "{} ids where {} are allowed", cut->ids.size(), length);
  }
  for (const int64_t id : encoding.ids) {
    expect(tokenizer.find(tokenizer.token(id)).has_value(), "token {} is not found by its text", id);
    tokenizer.decode(std::span(&id, 1));
  }
  tokenizer.decode(encoding.ids, false);
  const std::string decoded = tokenizer.decode(encoding.ids);
  text::StreamDecoder stream(tokenizer);
  std::string streamed;
  for (const int64_t id : encoding.ids) streamed += stream.push(id);
  streamed += stream.finish();
  expect(valid_utf8(streamed), "the stream decoder returns invalid UTF-8");
  tokenizer.explain(text);
  if (!saved) return;
  const std::string where = folder + "/saved";
  tokenizer.save(where);
  const auto again = text::load_tokenizer(where);
  expect(again->encode(text).ids == encoding.ids, "the encoding differs after saving");
  expect(again->decode(encoding.ids) == decoded, "the decoded text differs after saving");
}

void fuzz_tokenizer_files(Bytes bytes, std::span<const char* const> names, bool saved) {
  const std::string folder = empty_folder();
  const std::vector<std::string_view> parts = parts_of(bytes);
  for (size_t i = 0; i < std::min(parts.size(), names.size()); ++i)
    if (!parts[i].empty()) put_file(fmt::format("{}/{}", folder, names[i]), parts[i]);
  const std::string text(parts.size() > names.size() ? parts[names.size()] : "Unknown wörds, 12 of them.");
  const auto tokenizer = accepted([&] { return text::load_tokenizer(folder); });
  if (!tokenizer) return;
  unless_expression_fails([&] {
    check_tokenizer_invariants(**tokenizer, text, folder, saved);
    if (&(*tokenizer)->target() != tokenizer->get())
      check_tokenizer_invariants((*tokenizer)->target(), text, folder, false);
  });
}

}  // namespace tape::fuzz
