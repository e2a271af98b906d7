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

/// Decoder-only model types that can be trained from scratch, by their names in transformers: those whose folders
/// transformers opens with the tokenizer trained here. (For Qwen2 it uses Qwen2's own tokenizer, for Mistral one that
/// these folders do not have.)
enum class DecoderKind { gpt2, llama, qwen3, gpt_neox };
inline constexpr std::array<std::pair<std::string_view, DecoderKind>, 4> kDecoderKinds{
    {{"gpt2", DecoderKind::gpt2},
     {"llama", DecoderKind::llama},
     {"qwen3", DecoderKind::qwen3},
     {"gpt_neox", DecoderKind::gpt_neox}}};

/// "gpt2"
std::string_view to_string(DecoderKind kind);

/// A model to train from scratch, as far as the user chooses it.
struct DecoderSizes {
  DecoderKind kind = DecoderKind::gpt2;
  int64_t vocab = 0, width = 0, layers = 0, heads = 0;
  std::optional<int64_t> kv_heads = {};  ///< llama and qwen3 only; default: heads
  std::optional<int64_t> window = {};    ///< qwen3 only
  /// gpt2 only; default gelu_tanh, which transformers calls gelu_new and llama.cpp's GPT-2 requires.
  std::optional<nn::ActivationKind> activation = {};
  int64_t context = 0;
  double dropout = 0;  ///< of embeddings, sublayers and attention; a Llama has only attention dropout
  std::optional<int64_t> bos_id = {}, eos_id = {};
};

/// Its configuration. The feed-forward width is 4 times the width, or 8 / 3 times it (rounded up to a multiple of 8)
/// for gated feed-forwards, which have a third matrix. Embeddings are tied to the output except for GPT-NeoX. Throws
/// Error (config) for an option that the model type does not have.
std::variant<models::GptConfig, models::LlamaConfig, models::GptNeoXConfig> decoder_config(const DecoderSizes& sizes);

std::unique_ptr<models::CausalLM> make_decoder(const DecoderSizes& sizes);
/// Its number of parameters, without building it.
double parameter_count(const DecoderSizes& sizes);

}  // namespace tape::train
