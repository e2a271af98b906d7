#include "models/gguf/export.h"

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "base/path.h"
#include "models/gguf/names.h"
#include "models/gguf/tokenizer.h"
#include "nn/adapters.h"

namespace tape::models {
namespace {

/// llama.cpp's code for files whose matrices are mostly of this type (enum llama_ftype).
uint32_t file_type(GgufType type) {
  constexpr std::array<uint32_t, 5> numbers{0, 1, 32, 7, 2};
  return numbers[static_cast<size_t>(type)];
}

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

/// Collects a model's metadata and tensors.
class Export {
 public:
  Export(const std::string& architecture, GgufType type) : architecture_(architecture), type_(type) {
    metadata.emplace_back("general.architecture", architecture);
  }

  void entry(const std::string& key, GgufValue value) {
    metadata.emplace_back(fmt::format("{}.{}", architecture_, key), std::move(value));
  }
  void tensor(const std::string& name, const Tensor& values) {
    const bool vector = values.rank() < 2, blocks = type_ == GgufType::Q8_0 || type_ == GgufType::Q4_0;
    const bool fits = !blocks || values.size(values.rank() - 1) % 32 == 0;
    tensors.push_back({name, values, vector ? GgufType::F32 : fits ? type_ : GgufType::F16});
  }
  /// Adds the weight and optional bias of one of our modules.
  void module(const std::string& name, const nn::StateDict& state, const std::string& path) {
    for (const char* part : {"weight", "bias"})
      if (const auto value = state.find(fmt::format("{}.{}", path, part)); value != state.end())
        tensor(fmt::format("{}.{}", name, part), value->second);
  }

  /// Number of rows of the token table.
  int64_t vocab() const {
    for (const GgufTensor& one : tensors)
      if (one.name == "token_embd.weight") return one.values.size(0);
    return 0;
  }

  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;

 private:
  std::string architecture_;
  GgufType type_;
};

/// Writes sizes in the types of the format.
struct WriteEntries {
  Export& to;
  void operator()(const char* key, int64_t value) const { to.entry(key, u32(value)); }
  void operator()(const char* key, double value) const { to.entry(key, static_cast<float>(value)); }
  void operator()(const char* key, const std::optional<int64_t>& value) const { to.entry(key, u32(*value)); }
};

Export export_model(const Gpt& model, GgufType type) {
  const GptConfig& c = model.config();
  if (c.activation != nn::ActivationKind::gelu_tanh)
    raise(ErrorKind::config,
          "export gguf: GPT-2 must have the activation gelu_new there, but this model has {} (train lm --activation "
          "gelu_new trains a suitable one)",
          nn::to_string(c.activation));
  Export e("gpt2", type);
  gguf::visit_gpt2_keys(c, WriteEntries{e});
  const nn::StateDict state = model.state_dict();
  e.tensor("token_embd.weight", state.at("embeddings.token.weight"));
  e.tensor("position_embd.weight", state.at("embeddings.position.weight"));
  for (int64_t i = 0; i < c.layers; ++i) {
    const gguf::LayerNames names(i);
    for (const auto& [theirs, ours] : gguf::kGpt2Layer) e.module(names.theirs + theirs, state, names.ours + ours);
    for (const char* part : {"weight", "bias"}) {
      Tensors packed;
      for (const char* one : gguf::kPackedAttention)
        packed.push_back(state.at(fmt::format("{}self_attention.{}.{}", names.ours, one, part)));
      e.tensor(fmt::format("{}attn_qkv.{}", names.theirs, part), cat(packed, 0));
    }
  }
  e.module("output_norm", state, "encoder.norm");
  e.tensor("output.weight", c.tie_output ? state.at("embeddings.token.weight") : state.at("output.weight"));
  return e;
}

/// Reorders rows of a query's or key's weight or bias as in Meta's Llama, which rotates columns 2i and 2i + 1 of a head
/// together; transformers rotates i and i + D/2.
Tensor interleaved(const Tensor& values, int64_t heads) {
  const int64_t rows = values.size(0), columns = values.numel() / rows;
  return reshape(transpose(reshape(values, Shape{heads, 2, rows / heads / 2, columns}), 1, 2), values.shape());
}

/// GGUF stores linear scaling and YaRN by name, and Llama 3's scaling as the divisors of its frequencies.
void export_scaling(Export& e, const LlamaConfig& c) {
  if (const auto* linear = std::get_if<nn::LinearScaling>(&c.rotary.scaling)) {
    e.entry("rope.scaling.type", std::string("linear"));
    e.entry("rope.scaling.factor", static_cast<float>(linear->factor));
  } else if (const auto* yarn = std::get_if<nn::YarnScaling>(&c.rotary.scaling)) {
    if (yarn->attention_factor || yarn->mscale || yarn->mscale_all_dim || !yarn->truncate)
      raise(ErrorKind::config, "export gguf: GGUF stores YaRN only with its default attention factor");
    e.entry("rope.scaling.type", std::string("yarn"));
    e.entry("rope.scaling.factor", static_cast<float>(yarn->factor));
    e.entry("rope.scaling.original_context_length", u32(yarn->original_length));
    e.entry("rope.scaling.yarn_beta_fast", static_cast<float>(yarn->beta_fast));
    e.entry("rope.scaling.yarn_beta_slow", static_cast<float>(yarn->beta_slow));
  } else if (std::holds_alternative<nn::Llama3Scaling>(c.rotary.scaling)) {
    e.tensor("rope_freqs.weight", gguf::divisors_of(c));
  } else if (!std::holds_alternative<std::monostate>(c.rotary.scaling)) {
    raise(ErrorKind::config, "export gguf: GGUF cannot store {} of rotary positions", nn::to_string(c.rotary.scaling));
  }
}

void export_llama_sizes(Export& e, const LlamaConfig& c) {
  gguf::visit_llama_keys(c, WriteEntries{e});
  for (const char* key : gguf::kHeadWidths) e.entry(key, u32(*c.head_width));
}

void check_llama(const LlamaConfig& c) {
  if (c.activation != nn::ActivationKind::silu)
    raise(ErrorKind::config, "export gguf: {} must have the activation silu there, but this model has {}",
          to_string(c.kind), nn::to_string(c.activation));
  if (c.window && c.max_length > *c.window)
    raise(ErrorKind::config,
          "export gguf: a sliding window ({} of {} positions) cannot be stored for architecture \"{}\"", *c.window,
          c.max_length, to_string(c.kind));
  if (c.mlp_bias || (c.attention_bias && c.kind != LlamaKind::llama))
    raise(ErrorKind::config, "export gguf: the biases of this {} cannot be stored", to_string(c.kind));
}

Export export_model(const Llama& model, GgufType type) {
  const LlamaConfig c = completed(model.config());
  check_llama(c);
  const bool turned = c.kind == LlamaKind::llama || c.kind == LlamaKind::mistral;
  Export e(turned ? "llama" : std::string(to_string(c.kind)), type);
  export_llama_sizes(e, c);
  export_scaling(e, c);
  nn::StateDict state = model.state_dict();
  if (turned)
    for (auto& [name, values] : state) {
      if (name.find("self_attention.query.") != std::string::npos) values = interleaved(values, c.heads);
      if (name.find("self_attention.key.") != std::string::npos) values = interleaved(values, *c.kv_heads);
    }
  e.tensor("token_embd.weight", state.at("embeddings.token.weight"));
  for (int64_t i = 0; i < c.layers; ++i) {
    const gguf::LayerNames names(i);
    for (const auto& [theirs, ours] : gguf::kLlamaLayer) e.module(names.theirs + theirs, state, names.ours + ours);
  }
  e.module("output_norm", state, "encoder.norm");
  if (!c.tie_output) e.tensor("output.weight", state.at("output.weight"));
  return e;
}

Export export_model(const nn::Module& model, GgufType type) {
  if (const auto* gpt = dynamic_cast<const Gpt*>(&model)) return export_model(*gpt, type);
  if (const auto* llama = dynamic_cast<const Llama*>(&model)) return export_model(*llama, type);
  raise(ErrorKind::config, "export gguf: {} is not supported; GPT-2, Llama, Mistral, Qwen2 and Qwen3 are",
        model.type_name());
}

}  // namespace

void export_gguf(const std::string& folder, const std::string& path, const GgufExportOptions& options) {
  const NoGrad no_grad;
  const AnyModel model = load_model(folder);
  nn::merge_adapters(module_of(model));
  Export e = export_model(module_of(model), options.type);
  const std::string name =
      options.name.empty() ? std::filesystem::path(canonical_path(folder)).filename().string() : options.name;
  e.metadata.insert(e.metadata.begin() + 1, {"general.name", name});
  e.metadata.emplace_back("general.file_type", file_type(options.type));
  e.metadata.emplace_back("general.quantization_version", uint32_t{2});
  append_tokenizer(e.metadata, folder, e.vocab());
  gguf::write_end_tokens(e.metadata, dynamic_cast<const CausalLM&>(module_of(model)).options().eos_ids);
  save_gguf(path, e.metadata, e.tensors);
}

}  // namespace tape::models
