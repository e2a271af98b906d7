// Compares with transformers; tests/fixtures/make_chat.py writes the expected values.
#include "text/tokenizers/chat_template.h"

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"

namespace tape::text {
namespace {

const Json& chat() { return fixture_json("chat.json"); }

class ChatFolder : public TokenizerFolder {
 protected:
  /// Loads the template from a folder, or creates it by name if its text is not in the fixture.
  ChatTemplate template_of(const std::string& name) {
    if (!chat().at("templates").contains(name)) return ChatTemplate(name);
    const Json& text = chat().at("templates").at(name);
    write("tokenizer_config.json", Json{{"chat_template", text}, {"bos_token", "<s>"}, {"eos_token", "</s>"}}.dump());
    return ChatTemplate::load(folder_.path());
  }
};

std::vector<ChatMessage> messages_of(const Json& json) {
  std::vector<ChatMessage> out;
  for (const Json& m : json) out.push_back({m.at("role").get<std::string>(), m.at("content").get<std::string>()});
  return out;
}

TEST_F(ChatFolder, MatchesTransformers) {
  int refused = 0, written = 0;
  for (const Json& one : chat().at("cases")) {
    const std::string name = one.at("name");
    const ChatTemplate read = template_of(name);
    EXPECT_EQ(read.name(), name);
    const std::vector<ChatMessage> messages = messages_of(one.at("messages"));
    const Thinking thinking = one.value("thinking", true) ? Thinking::allowed : Thinking::off;
    if (one.at("text").is_null()) {
      EXPECT_THROW(read.apply(messages, one.at("prompt"), thinking), Error) << one;
      ++refused;
    } else {
      EXPECT_EQ(read.apply(messages, one.at("prompt"), thinking), one.at("text").get<std::string>()) << one;
      ++written;
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(written, 100);
}

TEST(ChatTemplate, AcceptsAnInitializerList) {
  EXPECT_EQ(ChatTemplate("chatml").apply({{"user", "Hello."}}, false), "<|im_start|>user\nHello.<|im_end|>\n");
}

TEST(ChatTemplates, AreRecognizedByTheirPublishedText) {
  EXPECT_EQ(chat().at("published").size(), 3u);
  for (const auto& [hash, name] : chat().at("published").items())
    EXPECT_EQ(published_template(std::stoull(hash, nullptr, 16)), name.get<std::string>());
  EXPECT_EQ(published_template(1), "");
}

TEST_F(ChatFolder, FindsTheTemplateInEitherFile) {
  const Json& text = chat().at("templates").at("zephyr");
  const Json several = {{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", text}}};
  write("tokenizer_config.json", Json{{"chat_template", several}}.dump());
  EXPECT_EQ(ChatTemplate::load(folder_.path()).name(), "zephyr");
  write("chat_template.jinja", chat().at("templates").at("gemma").get<std::string>() + "\n");
  EXPECT_EQ(ChatTemplate::load(folder_.path()).name(), "gemma");
}

TEST_F(ChatFolder, TakesTheTokensOfTheClassIfTheFilesNameNone) {
  Json config{{"chat_template", chat().at("templates").at("mistral")}, {"tokenizer_class", "LlamaTokenizer"}};
  const auto written = [&] {
    write("tokenizer_config.json", config.dump());
    return ChatTemplate::load(folder_.path()).apply({{"user", "a"}, {"assistant", "b"}});
  };
  EXPECT_EQ(written(), "<s>[INST] a [/INST]b</s>");
  config["eos_token"] = "<end>";
  EXPECT_EQ(written(), "<s>[INST] a [/INST]b<end>");
}

TEST_F(ChatFolder, NamesTheFileOfAMissingOrUnknownTemplate) {
  const auto load = [this] { return ChatTemplate::load(folder_.path()); };
  EXPECT_TAPE_ERROR(load(), ErrorKind::format, folder_.path() + ": no chat template");
  write("tokenizer_config.json", "{}");
  EXPECT_TAPE_ERROR(load(), ErrorKind::format, path("tokenizer_config.json") + ": no chat_template");
  write("tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
  EXPECT_TAPE_ERROR(load(), ErrorKind::format,
                    path("tokenizer_config.json") +
                        ": unknown chat template (known: chatml, gemma, llama2, llama3, llama3.1, mistral, qwen3, "
                        "zephyr, as published): \"{{ messages }}\"");
  write("tokenizer_config.json", R"({"chat_template": []})");
  EXPECT_TAPE_ERROR(load(), ErrorKind::format,
                    path("tokenizer_config.json") + ": chat_template: no template is named \"default\"");
  EXPECT_TAPE_ERROR(ChatTemplate("vicuna"), ErrorKind::config,
                    "ChatTemplate: unknown name \"vicuna\", expected one of chatml, gemma, llama2, llama3, llama3.1, "
                    "mistral, qwen3, zephyr");
  const std::vector<ChatMessage> system{{"system", "Be brief."}, {"user", "Hello"}}, late{{"user", "a"}, {"user", "b"}};
  EXPECT_TAPE_ERROR(ChatTemplate("gemma").apply(system), ErrorKind::config,
                    "chat template gemma: message 0 has role \"system\": user and assistant must alternate, "
                    "user first; this template has no system message");
  EXPECT_TAPE_ERROR(ChatTemplate("mistral").apply(late), ErrorKind::config,
                    "chat template mistral: message 1 has role \"user\": user and assistant must alternate, "
                    "user first");
  const std::vector<ChatMessage> tool{{"user", "a"}, {"tool", "b"}}, none;
  for (const std::string name : {"llama3.1", "qwen3"}) {
    EXPECT_TAPE_ERROR(
        ChatTemplate(name).apply(tool), ErrorKind::config,
        fmt::format("chat template {}: message 1 has role \"tool\", expected one of system, user, assistant", name));
    EXPECT_TAPE_ERROR(ChatTemplate(name).apply(none), ErrorKind::config,
                      fmt::format("chat template {}: no messages", name));
  }
  EXPECT_TAPE_ERROR(ChatTemplate("llama3").apply(late, true, Thinking::off), ErrorKind::config,
                    "chat template llama3 has no thinking to turn off");
}

}  // namespace
}  // namespace tape::text
