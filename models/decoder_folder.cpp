#include "models/decoder_folder.h"

#include "models/folder_loading.h"
#include "models/hugging_face/generation.h"
#include "models/hugging_face/gpt2.h"
#include "models/hugging_face/gpt_neox.h"
#include "models/hugging_face/llama.h"
#include "models/hugging_face/llama_family.h"
#include "models/hugging_face/mistral.h"
#include "models/hugging_face/qwen2.h"
#include "models/hugging_face/qwen3.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

using LlamaReader = LlamaConfig (*)(const ConfigReader&);

LlamaReader llama_reader(const std::string& architecture) {
  static const auto& readers =
      *new const std::map<std::string, LlamaReader>{{"LlamaForCausalLM", hf::read_llama_config},
                                                    {"MistralForCausalLM", hf::read_mistral_config},
                                                    {"Qwen2ForCausalLM", hf::read_qwen2_config},
                                                    {"Qwen3ForCausalLM", hf::read_qwen3_config}};
  const auto found = readers.find(architecture);
  return found == readers.end() ? nullptr : found->second;
}

/// The model without its generation settings. The configuration is read before the weights, so that an error in it is
/// reported without reading a large file.
AnyModel load_layers(const std::string& folder, const ConfigReader& config, const std::string& architecture,
                     const std::optional<ConfigReader>& generation) {
  const std::string& file = config.where();
  const auto weights_of = [&](int64_t layers) {
    Weights weights = read_weights(folder);
    check_layers(file, layers, weights);
    return weights;
  };
  if (const LlamaReader read = llama_reader(architecture)) {
    const LlamaConfig given = hf::with_ends(read(config), generation);
    const LlamaConfig c = naming(file, [&] { return completed(given); });
    return filled<Llama>(
        file, c, weights_of(c.layers), [&] { return hf::llama_layout(c); }, "model.");
  }
  if (architecture == "GPTNeoXForCausalLM") {
    const GptNeoXConfig c = hf::with_ends(hf::read_gpt_neox_config(config), generation);
    naming(file, [&] { check(c); });
    Weights weights = weights_of(c.layers);
    weights.tensors = hf::with_embed_out(std::move(weights.tensors));
    return filled<GptNeoX>(
        file, c, weights, [&] { return hf::gpt_neox_layout(c); }, "gpt_neox.");
  }
  const GptConfig c = hf::with_ends(hf::read_gpt_config(config), generation);
  return filled<Gpt>(
      file, c, weights_of(c.layers), [&] { return hf::gpt_layout(c); }, "transformer.");
}

}  // namespace

std::optional<AnyModel> load_decoder(const std::string& folder, const ConfigReader& config,
                                     const std::string& architecture) {
  const bool known =
      llama_reader(architecture) || architecture == "GPTNeoXForCausalLM" || architecture == "GPT2LMHeadModel";
  if (!known) return std::nullopt;
  const std::optional<ConfigReader> generation = hf::open_generation_config(folder);
  AnyModel model = load_layers(folder, config, architecture, generation);
  dynamic_cast<CausalLM&>(module_of(model)).search = hf::read_generation_defaults(generation ? *generation : config);
  return model;
}

}  // namespace tape::models
