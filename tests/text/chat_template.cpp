// Against transformers: tests/fixtures/make_chat.py made what is expected.
#include "text/chat_template.h"

#include "tests/support/errors.h"
#include "tests/text/tokenizer_fixture.h"

namespace tape::text {
namespace {

const Json& chat() { return fixture_json("chat.json"); }

using ChatFolder = TokenizerFolder;

std::vector<ChatMessage> messages_of(const Json& json) {
  std::vector<ChatMessage> out;
  for (const Json& m : json) out.push_back({m.at("role").get<std::string>(), m.at("content").get<std::string>()});
  return out;
}

TEST_F(ChatFolder, WritesWhatTransformersWrites) {
  int refused = 0, written = 0;
  for (const Json& one : chat().at("cases")) {
    const std::string name = one.at("name");
    const Json text = chat().at("templates").at(name);
    write("tokenizer_config.json", Json{{"chat_template", text}, {"bos_token", "<s>"}, {"eos_token", "</s>"}}.dump());
    const ChatTemplate read = ChatTemplate::load(folder_.path());
    EXPECT_EQ(read.name(), name);
    const std::vector<ChatMessage> messages = messages_of(one.at("messages"));
    if (one.at("text").is_null()) {
      EXPECT_THROW(read.apply(messages, one.at("prompt")), Error) << one;
      ++refused;
    } else {
      EXPECT_EQ(read.apply(messages, one.at("prompt")), one.at("text").get<std::string>()) << one;
      ++written;
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(written, 50);
}

TEST_F(ChatFolder, IsFoundInEveryPlace) {
  const Json& text = chat().at("templates").at("zephyr");
  const Json several = {{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", text}}};
  write("tokenizer_config.json", Json{{"chat_template", several}}.dump());
  EXPECT_EQ(ChatTemplate::load(folder_.path()).name(), "zephyr");
  write("chat_template.jinja", chat().at("templates").at("gemma").get<std::string>() + "\n");
  EXPECT_EQ(ChatTemplate::load(folder_.path()).name(), "gemma");
}

TEST_F(ChatFolder, IsRefusedByName) {
  const auto load = [this] { return ChatTemplate::load(folder_.path()); };
  EXPECT_TAPE_ERROR(load(), ErrorKind::format, folder_.path() + ": no chat template");
  write("tokenizer_config.json", "{}");
  EXPECT_TAPE_ERROR(load(), ErrorKind::format, path("tokenizer_config.json") + ": no chat_template");
  write("tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
  EXPECT_TAPE_ERROR(
      load(), ErrorKind::format,
      path("tokenizer_config.json") +
          ": the chat template is none of those known (chatml, gemma, llama2, llama3, mistral, zephyr, as "
          "they were published first): \"{{ messages }}\"");
  write("tokenizer_config.json", R"({"chat_template": []})");
  EXPECT_TAPE_ERROR(load(), ErrorKind::format,
                    path("tokenizer_config.json") + ": chat_template: none is named \"default\"");
  EXPECT_TAPE_ERROR(ChatTemplate("vicuna"), ErrorKind::config,
                    "ChatTemplate: \"vicuna\" is none of chatml, gemma, llama2, llama3, mistral, zephyr");
  const std::vector<ChatMessage> system{{"system", "Be brief."}, {"user", "Hello"}}, late{{"user", "a"}, {"user", "b"}};
  EXPECT_TAPE_ERROR(ChatTemplate("gemma").apply(system), ErrorKind::config,
                    "chat template gemma: message 0 is of the role \"system\": user and assistant must take turns, the "
                    "user first; it has no system message");
  EXPECT_TAPE_ERROR(ChatTemplate("mistral").apply(late), ErrorKind::config,
                    "chat template mistral: message 1 is of the role \"user\": user and assistant must take turns, the "
                    "user first");
}

}  // namespace
}  // namespace tape::text
