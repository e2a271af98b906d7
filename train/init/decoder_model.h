#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "../../models/decoders/gpt.h"
#include "../../models/decoders/gpt_neox.h"
#include "../../models/decoders/llama.h"

namespace tape::train {

/// The decoder-only models that a text can be learned with, by the names that transformers gives them: those whose
/// folders it opens with the tokenizer that is learned here (with a Qwen2 it takes Qwen2's own, with a Mistral one that
/// these folders have not).
enum class DecoderKind { gpt2, llama, qwen3, gpt_neox };
inline constexpr std::array<std::pair<std::string_view, DecoderKind>, 4> kDecoderKinds{
    {{"gpt2", DecoderKind::gpt2},
     {"llama", DecoderKind::llama},
     {"qwen3", DecoderKind::qwen3},
     {"gpt_neox", DecoderKind::gpt_neox}}};

/// "gpt2"
std::string_view to_string(DecoderKind kind);

/// A model to be trained from nothing, as far as a user chooses it.
struct DecoderSizes {
  DecoderKind kind = DecoderKind::gpt2;
  int64_t vocab = 0, width = 0, layers = 0, heads = 0;
  std::optional<int64_t> kv_heads = {};  ///< of llama and qwen3; heads where not given
  std::optional<int64_t> window = {};    ///< of qwen3
  /// Of gpt2: gelu_tanh where not given, which transformers calls gelu_new and llama.cpp's GPT-2 needs.
  std::optional<nn::ActivationKind> activation = {};
  int64_t context = 0;
  double dropout = 0;  ///< of embeddings, sublayers and attention; a Llama has that of attention alone
  std::optional<int64_t> bos_id = {}, eos_id = {};
};

/// Its configuration: an inner width of 4 times the width, and of 8 / 3 times it (to a multiple of 8) where a gate
/// makes a third matrix; the token table as the output's matrix but in GPT-NeoX. Error (config) for what its kind has
/// not.
std::variant<models::GptConfig, models::LlamaConfig, models::GptNeoXConfig> decoder_config(const DecoderSizes& sizes);

std::unique_ptr<models::CausalLM> make_decoder(const DecoderSizes& sizes);
/// What it will have, without making it.
double parameter_count(const DecoderSizes& sizes);

}  // namespace tape::train
