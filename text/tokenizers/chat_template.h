#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// A message of a conversation.
struct ChatMessage {
  std::string role;     ///< "system", "user" or "assistant"
  std::string content;  ///< text of the message
};

/// Whether a reasoning model may think before it answers. `off` inserts an empty thought, like `enable_thinking` =
/// false in transformers.
enum class Thinking { allowed, off };

/// Formats a conversation as the text a chat model was trained on, with the same output as `transformers`'
/// apply_chat_template for these templates:
///
///     chatml    <|im_start|>role LF content <|im_end|> LF, for any role (Qwen 1.5, OpenHermes, SmolLM and others)
///     gemma     <start_of_turn>user ... <start_of_turn>model, no system message
///     llama2    [INST] <<SYS>> ... <</SYS>> ... [/INST] ... (Touvron et al. 2023)
///     llama3    <|start_header_id|>role<|end_header_id|> ... <|eot_id|> (Grattafiori et al. 2024, section 4)
///     llama3.1  the same after a system message with the knowledge cutoff and, as in the template, the fixed date
///               26 Jul 2024 (Llama 3.1 and 3.3)
///     mistral   [INST] ... [/INST] ... , no system message (Jiang et al. 2023)
///     qwen3     ChatML with reasoning, <think> LF ... LF </think>, which is kept only after the last user message
///               (Yang et al. 2025, "Qwen3", section 4)
///     zephyr    <|user|> LF content </s> LF (Tunstall et al. 2023)
///
/// A folder's template is a Jinja program; it is recognized by its text, not executed. Tools are not supported.
class ChatTemplate {
 public:
  /// `name` is one of the names above; `bos` and `eos` begin and end texts. Throws Error (config) for another name.
  explicit ChatTemplate(std::string_view name, std::string bos = "<s>", std::string eos = "</s>");
  /// Recognizes a folder's template: chat_template.jinja, or chat_template in tokenizer_config.json (the one named
  /// "default" if there are several). Throws Error (format) if there is none or it is not one of those above.
  static ChatTemplate load(const std::string& folder);

  /// Name of the template, as in the list above.
  const std::string& name() const { return name_; }
  /// Returns the text, to be encoded without special tokens. `add_generation_prompt` ends it where the assistant's
  /// reply begins. Throws Error (config) for a message whose role is unsupported or out of turn, and for Thinking::off
  /// with a template without reasoning.
  std::string apply(const std::vector<ChatMessage>& messages, bool add_generation_prompt = true,
                    Thinking thinking = Thinking::allowed) const;

 private:
  std::string name_, bos_, eos_;
};

/// Name of the published template whose text, without a final LF, has this XXH3-64; "" if unknown.
std::string_view published_template(uint64_t xxh3);

}  // namespace tape::text
