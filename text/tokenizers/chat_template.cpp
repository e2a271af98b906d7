#include "text/tokenizers/chat_template.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/hash.h"
#include "text/json.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/config.h"
#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/steps/json_entry.h"

namespace tape::text {
namespace {

constexpr std::array<std::string_view, 8> kNames{"chatml",   "gemma",   "llama2", "llama3",
                                                 "llama3.1", "mistral", "qwen3",  "zephyr"};

/// Published templates by XXH3-64; tests/fixtures/make_chat.py has their texts or sources. Qwen 3's was published in
/// two versions with the same output.
struct KnownText {
  uint64_t hash;
  std::string_view name;
};
constexpr std::array<KnownText, 9> kKnownTexts{{{0x4C6E807EE5FE9F4Au, "chatml"},
                                                {0x344EDB205734F341u, "gemma"},
                                                {0x24F6D97F87D647F5u, "llama2"},
                                                {0x9799AD6E2DEA0594u, "llama3"},
                                                {0x6CA7779B7730196Au, "llama3.1"},
                                                {0xA5D004210EBCE758u, "mistral"},
                                                {0x0283F874FF58D644u, "qwen3"},
                                                {0xC9E0155C80737CF2u, "qwen3"},
                                                {0x1DB34E9FC60441D8u, "zephyr"}}};

/// Same as Python's str.strip().
std::string_view stripped_text(std::string_view text) {
  const auto is_space = [](char32_t point) { return is_white_space(point) || (point >= 0x1C && point <= 0x1F); };
  const Range inside = without_spaces(text, is_space);
  return text.substr(inside.begin, inside.end - inside.begin);
}

using Messages = std::span<const ChatMessage>;

/// Checks that user and assistant alternate, user first, from message `from` on (1 after a system message).
void check_turns(const std::string& name, Messages messages, size_t from) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role != (i % 2 == 0 ? "user" : "assistant"))
      raise(ErrorKind::config,
            "chat template {}: message {} has role \"{}\": user and assistant must alternate, user first{}", name,
            i + from, clipped(role, 40),
            role == "system" && from == 0 && i == 0 ? "; this template has no system message" : "");
  }
}

std::string chatml(Messages messages, bool prompt) {
  std::string out;
  for (const ChatMessage& m : messages) out += fmt::format("<|im_start|>{}\n{}<|im_end|>\n", m.role, m.content);
  return prompt ? out + "<|im_start|>assistant\n" : out;
}

std::string gemma(Messages messages, const std::string& bos, bool prompt) {
  std::string out = bos;
  for (const ChatMessage& m : messages)
    out += fmt::format("<start_of_turn>{}\n{}<end_of_turn>\n", m.role == "assistant" ? "model" : m.role,
                       stripped_text(m.content));
  return prompt ? out + "<start_of_turn>model\n" : out;
}

std::string llama2(Messages messages, const std::string& system, const std::string& bos, const std::string& eos) {
  std::string out;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string content = i == 0 ? system + messages[i].content : messages[i].content;
    out += i % 2 == 0 ? fmt::format("{}[INST] {} [/INST]", bos, stripped_text(content))
                      : fmt::format(" {} {}", stripped_text(content), eos);
  }
  return out;
}

std::string llama3(Messages messages, const std::string& bos, bool prompt) {
  std::string out = messages.empty() ? "" : bos;
  for (const ChatMessage& m : messages)
    out += fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n{}<|eot_id|>", m.role, stripped_text(m.content));
  return prompt ? out + "<|start_header_id|>assistant<|end_header_id|>\n\n" : out;
}

/// Throws Error (config) for an empty conversation and for a role that is not in `roles`.
void check_roles(const std::string& name, Messages messages, std::span<const std::string_view> roles) {
  if (messages.empty()) raise(ErrorKind::config, "chat template {}: no messages", name);
  for (size_t i = 0; i < messages.size(); ++i)
    if (std::ranges::find(roles, messages[i].role) == roles.end())
      raise(ErrorKind::config, "chat template {}: message {} has role \"{}\", expected one of {}", name, i,
            clipped(messages[i].role, 40), fmt::to_string(fmt::join(roles, ", ")));
}

constexpr std::array<std::string_view, 3> kRoles{"system", "user", "assistant"};

std::string llama31(const std::string& name, Messages messages, const std::string& bos, bool prompt) {
  check_roles(name, messages, kRoles);
  std::string_view system;
  if (messages[0].role == "system") {
    system = stripped_text(messages[0].content);
    messages = messages.subspan(1);
  }
  const std::string first = fmt::format(
      "{}<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul "
      "2024\n\n{}<|eot_id|>",
      bos, system);
  return first + llama3(messages, "", prompt);
}

std::string_view without_first_line_feeds(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

/// Splits a Qwen 3 assistant message into reasoning and answer: "<think>\nthought\n</think>\n\nspoken".
struct Spoken {
  std::string_view thought, spoken;

  explicit Spoken(std::string_view content) : spoken(content) {
    constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
    const size_t end = content.find(kEnd);
    if (end == content.npos) return;
    thought = content.substr(0, end);
    if (const size_t begin = thought.rfind(kBegin); begin != thought.npos) thought.remove_prefix(begin + kBegin.size());
    thought = trimmed(thought, "\n");
    spoken = without_first_line_feeds(content.substr(content.rfind(kEnd) + kEnd.size()));
  }
};

/// Index of the last user message that is not a tool response, which has this role too; the last message if none.
size_t last_query(Messages messages) {
  for (size_t i = messages.size(); i-- > 0;) {
    const std::string& content = messages[i].content;
    const bool tool = content.starts_with("<tool_response>") && content.ends_with("</tool_response>");
    if (messages[i].role == "user" && !tool) return i;
  }
  return messages.size() - 1;
}

std::string qwen3(const std::string& name, Messages messages, bool prompt, Thinking thinking) {
  check_roles(name, messages, kRoles);
  const size_t query = last_query(messages);
  std::string out;
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& m = messages[i];
    out += fmt::format("<|im_start|>{}\n", m.role);
    if (m.role != "assistant") {
      out += m.content;
    } else {
      const Spoken said(m.content);
      const bool thinks = i > query && (i + 1 == messages.size() || !said.thought.empty());
      out += thinks ? fmt::format("<think>\n{}\n</think>\n\n{}", said.thought, without_first_line_feeds(said.spoken))
                    : std::string(said.spoken);
    }
    out += "<|im_end|>\n";
  }
  if (!prompt) return out;
  return out + "<|im_start|>assistant\n" + (thinking == Thinking::off ? "<think>\n\n</think>\n\n" : "");
}

std::string mistral(Messages messages, const std::string& bos, const std::string& eos) {
  std::string out = bos;
  for (const ChatMessage& m : messages)
    out += m.role == "user" ? fmt::format("[INST] {} [/INST]", m.content) : m.content + eos;
  return out;
}

std::string zephyr(Messages messages, const std::string& eos, bool prompt) {
  std::string out;
  for (const ChatMessage& m : messages)
    if (m.role == "user" || m.role == "system" || m.role == "assistant")
      out += fmt::format("<|{}|>\n{}{}\n", m.role, m.content, eos);
  return prompt && !messages.empty() ? out + "<|assistant|>\n" : out;
}

/// Reads the template of a folder.
std::string template_text(const std::string& folder, std::string& where) {
  where = file_in_folder(folder, "chat_template.jinja");
  if (path_exists(where)) return read_text(where);
  where = file_in_folder(folder, "tokenizer_config.json");
  if (!path_exists(where)) raise(ErrorKind::format, "{}: no chat template", folder);
  const nlohmann::json json = parse_large_json(read_text(where), where, 32);
  const JsonEntry file(json, where);
  if (!file.has("chat_template")) raise(ErrorKind::format, "{}: no chat_template", where);
  const JsonEntry entry = file.at("chat_template");
  if (!entry.value().is_array()) return entry.text();
  for (const JsonEntry& named : entry.items())
    if (named.at("name").text() == "default") return named.at("template").text();
  entry.fail("no template is named \"default\"");
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view name, std::string bos, std::string eos)
    : name_(name), bos_(std::move(bos)), eos_(std::move(eos)) {
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end())
    raise(ErrorKind::config, "ChatTemplate: unknown name \"{}\", expected one of {}", clipped(name, 40),
          fmt::to_string(fmt::join(kNames, ", ")));
}

ChatTemplate ChatTemplate::load(const std::string& folder) {
  std::string where;
  std::string text = template_text(folder, where);
  if (text.ends_with('\n')) text.pop_back();  // added by an editor; Jinja ignores it
  const std::string_view name = published_template(hash_of(text));
  const TokenizerConfig config = read_tokenizer_config(folder, class_names(tokenizer_class_of(folder)));
  if (!name.empty()) return ChatTemplate(name, config.bos, config.eos);
  raise(ErrorKind::format, "{}: unknown chat template (known: {}, as published): \"{}\"", where,
        fmt::to_string(fmt::join(kNames, ", ")), clipped(text, 60));
}

std::string_view published_template(uint64_t xxh3) {
  const auto known = std::ranges::find(kKnownTexts, xxh3, &KnownText::hash);
  return known == kKnownTexts.end() ? std::string_view() : known->name;
}

std::string ChatTemplate::apply(const std::vector<ChatMessage>& all, bool add_generation_prompt,
                                Thinking thinking) const {
  Messages messages = all;
  if (name_ == "qwen3") return qwen3(name_, messages, add_generation_prompt, thinking);
  if (thinking == Thinking::off) raise(ErrorKind::config, "chat template {} has no thinking to turn off", name_);
  if (name_ == "llama3.1") return llama31(name_, messages, bos_, add_generation_prompt);
  if (name_ == "chatml") return chatml(messages, add_generation_prompt);
  if (name_ == "llama3") return llama3(messages, bos_, add_generation_prompt);
  if (name_ == "zephyr") return zephyr(messages, eos_, add_generation_prompt);
  std::string system;
  const bool has_system = name_ == "llama2" && !messages.empty() && messages[0].role == "system";
  if (has_system) {
    system = fmt::format("<<SYS>>\n{}\n<</SYS>>\n\n", messages[0].content);
    messages = messages.subspan(1);
  }
  check_turns(name_, messages, has_system ? 1 : 0);
  if (name_ == "llama2") return llama2(messages, system, bos_, eos_);
  if (name_ == "gemma") return gemma(messages, bos_, add_generation_prompt);
  return mistral(messages, bos_, eos_);
}

}  // namespace tape::text
