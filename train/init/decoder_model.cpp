#include "train/init/decoder_model.h"

#include <algorithm>

#include "base/error.h"
#include "train/memory/model_memory.h"

namespace tape::train {
namespace {

template <class... F>
struct Overloads : F... {
  using F::operator()...;
};
template <class... F>
Overloads(F...) -> Overloads<F...>;  // clang 16 does not deduce it

std::vector<int64_t> ends_of(const DecoderSizes& s) {
  return s.eos_id ? std::vector<int64_t>{*s.eos_id} : std::vector<int64_t>();
}

models::GptConfig gpt_config(const DecoderSizes& s) {
  return {.vocab = s.vocab,
          .d_model = s.width,
          .layers = s.layers,
          .heads = s.heads,
          .max_length = s.context,
          .activation = s.activation.value_or(nn::ActivationKind::gelu_tanh),
          .dropout = s.dropout,
          .attention_dropout = s.dropout,
          .embedding_dropout = s.dropout,
          .bos_id = s.bos_id,
          .eos_ids = ends_of(s)};
}

models::GptNeoXConfig neox_config(const DecoderSizes& s) {
  return {.vocab = s.vocab,
          .d_model = s.width,
          .layers = s.layers,
          .heads = s.heads,
          .d_ff = checked_multiply(4, s.width, "train lm"),
          .max_length = s.context,
          .dropout = s.dropout,
          .attention_dropout = s.dropout,
          .bos_id = s.bos_id,
          .eos_ids = ends_of(s)};
}

models::LlamaConfig llama_config(const DecoderSizes& s, models::LlamaKind kind) {
  constexpr int64_t multiple = 8;
  return {.kind = kind,
          .vocab = s.vocab,
          .d_model = s.width,
          .layers = s.layers,
          .heads = s.heads,
          .kv_heads = s.kv_heads,
          .d_ff = (checked_multiply(8, s.width, "train lm") / 3 + multiple - 1) / multiple * multiple,
          .max_length = s.context,
          .window = s.window,
          .attention_dropout = s.dropout,
          .tie_output = true,
          .bos_id = s.bos_id,
          .eos_ids = ends_of(s)};
}

}  // namespace

std::string_view to_string(DecoderKind kind) {
  const auto row =
      std::find_if(kDecoderKinds.begin(), kDecoderKinds.end(), [&](const auto& r) { return r.second == kind; });
  return row->first;
}

std::variant<models::GptConfig, models::LlamaConfig, models::GptNeoXConfig> decoder_config(const DecoderSizes& s) {
  using models::LlamaKind;
  if (s.kv_heads && s.kind != DecoderKind::llama && s.kind != DecoderKind::qwen3)
    raise(ErrorKind::config, "train lm: kv_heads requires llama or qwen3, got {}", to_string(s.kind));
  if (s.window && s.kind != DecoderKind::qwen3)
    raise(ErrorKind::config, "train lm: window requires qwen3, got {}", to_string(s.kind));
  if (s.activation && s.kind != DecoderKind::gpt2)
    raise(ErrorKind::config, "train lm: activation requires gpt2, got {}", to_string(s.kind));
  switch (s.kind) {
    case DecoderKind::llama:
      return completed(llama_config(s, LlamaKind::llama));
    case DecoderKind::qwen3:
      return completed(llama_config(s, LlamaKind::qwen3));
    case DecoderKind::gpt_neox:
      return neox_config(s);
    default:
      return gpt_config(s);
  }
}

std::unique_ptr<models::CausalLM> make_decoder(const DecoderSizes& sizes) {
  using Made = std::unique_ptr<models::CausalLM>;
  return std::visit(
      Overloads{[](const models::GptConfig& c) -> Made { return std::make_unique<models::Gpt>(c); },
                [](const models::LlamaConfig& c) -> Made { return std::make_unique<models::Llama>(c); },
                [](const models::GptNeoXConfig& c) -> Made { return std::make_unique<models::GptNeoX>(c); }},
      decoder_config(sizes));
}

double parameter_count(const DecoderSizes& sizes) {
  return std::visit([](const auto& config) { return parameter_count(config); }, decoder_config(sizes));
}

}  // namespace tape::train
