#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// What somebody says in a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

/// Whether an assistant that can think before it speaks may: `off` gives it an empty thought, as `enable_thinking` =
/// false does in transformers.
enum class Thinking { allowed, off };

/// How a model that was taught conversations reads one as a text, equal to `transformers`' apply_chat_template for the
/// templates that it knows:
///   chatml    <|im_start|>role LF content <|im_end|> LF, for any role (Qwen 1.5, OpenHermes, SmolLM and others)
///   gemma     <start_of_turn>user ... <start_of_turn>model, no system message
///   llama2    [INST] <<SYS>> ... <</SYS>> ... [/INST] ... (Touvron et al. 2023)
///   llama3    <|start_header_id|>role<|end_header_id|> ... <|eot_id|> (Grattafiori et al. 2024, section 4)
///   llama3.1  the same behind a system message, which tells the date of its knowledge and, as the template does, that
///             today is 26 Jul 2024 (Llama 3.1 and 3.3)
///   mistral   [INST] ... [/INST] ... , no system message (Jiang et al. 2023)
///   qwen3     ChatML, in which an assistant thinks before it speaks, <think> LF ... LF </think>, of which only what
///             follows the last user message is kept (Yang et al. 2025, "Qwen3", section 4)
///   zephyr    <|user|> LF content </s> LF (Tunstall et al. 2023)
/// A folder's own template is a program (Jinja); it is not run but recognized by its text. Tools are not written.
class ChatTemplate {
 public:
  /// One of the names above; `bos` and `eos` are the tokens that texts begin and end with. Error (config) for another.
  explicit ChatTemplate(std::string_view name, std::string bos = "<s>", std::string eos = "</s>");
  /// That of a folder: chat_template.jinja, or chat_template in tokenizer_config.json (the one named "default" of
  /// several). Error (format) where there is none, or where it is none of those above.
  static ChatTemplate load(const std::string& folder);

  const std::string& name() const { return name_; }
  /// The text, to be encoded without special tokens around it. `add_generation_prompt`: up to where the assistant
  /// begins to speak. Error (config) naming the message for a role that the template does not have, or out of turn; for
  /// Thinking::off with a template that knows no thoughts.
  std::string apply(const std::vector<ChatMessage>& messages, bool add_generation_prompt = true,
                    Thinking thinking = Thinking::allowed) const;

 private:
  std::string name_, bos_, eos_;
};

/// The name above of a template that was published as a text of this XXH3-64, an LF at its end left out; "" for none.
std::string_view published_template(uint64_t xxh3);

}  // namespace tape::text
