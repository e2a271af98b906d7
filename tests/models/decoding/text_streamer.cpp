#include "models/decoding/text_streamer.h"

#include <gmock/gmock.h>

#include "text/tokenizers/characters.h"

namespace tape::models {
namespace {

TEST(TextStreamer, WritesRowsInOrderAsTheyGrow) {
  const auto tokenizer = text::character_tokenizer("abcxyz");
  const auto id = [&](const char* token) { return *tokenizer->find(token); };
  std::vector<std::string> written;
  TextStreamer streamer(*tokenizer, [&](std::string_view text) { written.emplace_back(text); });
  const std::vector<TextStreamer::Prompt> given{{.text = "a", .ids = {id("a")}}, {.ids = {id("x")}}};
  streamer.begin(given);
  streamer.push(1, id("y"));  // waits for its turn
  streamer.push(0, id("b"));
  streamer.push(0, std::nullopt);
  streamer.push(1, id("z"));
  streamer.push(1, std::nullopt);
  EXPECT_EQ(written, (std::vector<std::string>{"a", "b", "\n---\ny", "z", "\n"}));

  written.clear();
  streamer.begin(std::span(given).first(1));
  EXPECT_EQ(written, (std::vector<std::string>{"---\na"})) << "in a second batch";
}

}  // namespace
}  // namespace tape::models
