#include "models/gguf/import.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "models/folders/folder_loading.h"
#include "models/gguf/names.h"
#include "models/gguf/tokenizer.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::models {
namespace {

/// The tensors of a file, of which each must be taken once.
class FileTensors {
 public:
  FileTensors(const std::map<std::string, Tensor>& tensors, const std::string& where)
      : tensors_(tensors), where_(where) {}

  bool has(const std::string& name) const { return tensors_.contains(name); }
  Tensor take(const std::string& name, const Shape& shape) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) raise(ErrorKind::format, "{}: tensor \"{}\" is missing", where_, name);
    if (!(found->second.shape() == shape))
      raise(ErrorKind::format, "{}: tensor \"{}\" is {}, but the model requires {}", where_, name,
            to_string(found->second.shape()), to_string(shape));
    taken_.insert(name);
    return found->second;
  }
  void refuse_others() const {
    for (const auto& [name, values] : tensors_)
      if (!taken_.contains(name)) raise(ErrorKind::config, "{}: the model has no tensor \"{}\"", where_, name);
  }
  int64_t count() const { return std::ssize(tensors_); }

 private:
  const std::map<std::string, Tensor>& tensors_;
  const std::string& where_;
  std::set<std::string> taken_;
};

/// Reads keys prefixed with an architecture's name; missing optional ones keep their values.
struct ReadEntries {
  const GgufEntries& from;
  std::string prefix;

  void operator()(const char* key, int64_t& value) const { value = from.whole(prefix + key); }
  void operator()(const char* key, double& value) const { value = from.number(prefix + key, value); }
  void operator()(const char* key, std::optional<int64_t>& value) const {
    if (from.has(prefix + key)) value = from.whole(prefix + key);
  }
};

/// Each layer has tensors of its own, so an absurd count is rejected here.
void check_layer_count(const GgufEntries& entries, int64_t layers, const FileTensors& tensors) {
  if (layers > tensors.count())
    raise(ErrorKind::format, "{}: {} layers, but {} tensors", entries.where(), layers, tensors.count());
}

/// Sets the tokens that begin and end a text.
template <class Take>
void take_token(const GgufEntries& entries, const char* key, int64_t vocab, Take&& take) {
  if (!entries.has(key)) return;
  const int64_t id = entries.whole(key);
  if (id >= vocab)
    raise(ErrorKind::format, "{}: \"{}\" is {}, but there are {} tokens", entries.where(), key, id, vocab);
  take(id);
}

template <class M, class Config>
AnyModel with_values(const GgufEntries& entries, const Config& config, const nn::StateDict& state) {
  return naming(entries.where(), [&]() -> AnyModel {
    auto model = std::make_unique<M>(config);
    model->load_state_dict(state);
    model->eval();
    return model;
  });
}

/// Takes a module's weight and optional bias.
void take_module(FileTensors& tensors, nn::StateDict& state, const std::string& theirs, const std::string& ours,
                 const Shape& weight, bool bias) {
  state[ours + ".weight"] = tensors.take(theirs + ".weight", weight);
  if (bias) state[ours + ".bias"] = tensors.take(theirs + ".bias", {weight[0]});
}

/// Passes sizes that must equal others of the architecture, and rotary keys, which it does not use.
void ignore_neutral_gpt2_keys(const GgufEntries& entries, const GptConfig& c) {
  const int64_t head_width = c.d_model / std::max<int64_t>(c.heads, 1);
  gguf::ignore_neutral_keys(entries, "gpt2.", c.max_length, head_width);
  const std::pair<const char*, int64_t> sizes[] = {{"gpt2.vocab_size", c.vocab},
                                                   {"gpt2.attention.head_count_kv", c.heads},
                                                   {"gpt2.attention.key_length", head_width},
                                                   {"gpt2.attention.value_length", head_width}};
  for (const auto& [key, size] : sizes)
    if (entries.peek(key) == static_cast<double>(size)) entries.pass(key);
  for (const char* key : {"freq_base", "dimension_count", "scale_linear"})
    entries.pass(fmt::format("gpt2.rope.{}", key));
}

AnyModel import_gpt2(const GgufEntries& entries, FileTensors& tensors) {
  GptConfig c;
  gguf::visit_gpt2_keys(c, ReadEntries{entries, "gpt2."});
  c.vocab = std::ssize(entries.list<std::string>("tokenizer.ggml.tokens"));
  ignore_neutral_gpt2_keys(entries, c);
  entries.refuse_others("gpt2.");
  check_layer_count(entries, c.layers, tensors);
  take_token(entries, "tokenizer.ggml.bos_token_id", c.vocab, [&](int64_t id) { c.bos_id = id; });
  c.eos_ids = gguf::read_end_tokens(entries);
  const int64_t width = c.d_model;
  nn::StateDict state;
  const Tensor table = tensors.take("token_embd.weight", {c.vocab, width});
  state["embeddings.token.weight"] = table;
  state["embeddings.position.weight"] = tensors.take("position_embd.weight", {c.max_length, width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const gguf::LayerNames names(i);
    const std::map<std::string, Shape> shapes{{"attn_norm", {width}},
                                              {"attn_output", {width, width}},
                                              {"ffn_norm", {width}},
                                              {"ffn_up", {c.d_ff, width}},
                                              {"ffn_down", {width, c.d_ff}}};
    for (const auto& [theirs, ours] : gguf::kGpt2Layer)
      take_module(tensors, state, names.theirs + theirs, names.ours + ours, shapes.at(theirs), true);
    nn::StateDict packed;
    take_module(tensors, packed, names.theirs + "attn_qkv", "all", {3 * width, width}, true);
    for (const auto& [name, values] : packed) {
      const Tensors parts = split(values, width, 0);
      for (size_t part = 0; part < parts.size(); ++part)
        state[fmt::format("{}self_attention.{}{}", names.ours, gguf::kPackedAttention[part], name.substr(3))] =
            parts[part];
    }
  }
  take_module(tensors, state, "output_norm", "encoder.norm", {width}, true);
  const Tensor output = tensors.has("output.weight") ? tensors.take("output.weight", {c.vocab, width}) : table;
  c.tie_output = std::equal(table.data<float>(), table.data<float>() + table.numel(), output.data<float>());
  state["output.weight"] = output;
  tensors.refuse_others();
  return with_values<Gpt>(entries, c, state);
}

LlamaConfig llama_config(const GgufEntries& entries, LlamaKind kind, const FileTensors& tensors) {
  const std::string prefix = fmt::format("{}.", to_string(kind));
  LlamaConfig c{.kind = kind};
  c.vocab = std::ssize(entries.list<std::string>("tokenizer.ggml.tokens"));
  if (entries.has(prefix + "vocab_size") && entries.whole(prefix + "vocab_size") != c.vocab)
    raise(ErrorKind::format, "{}: \"{}vocab_size\" is {}, but there are {} tokens", entries.where(), prefix,
          entries.whole(prefix + "vocab_size"), c.vocab);
  gguf::visit_llama_keys(c, [&, read = ReadEntries{entries, prefix}](const char* key, auto& value) {
    if (std::string_view(key) != "vocab_size") read(key, value);
  });
  for (const char* key : gguf::kHeadWidths) {
    if (!entries.has(prefix + key)) continue;
    const int64_t width = entries.whole(prefix + key);
    if (c.head_width && *c.head_width != width)
      raise(ErrorKind::config, "{}: \"{}{}\" is {}, but heads have width {}", entries.where(), prefix, key, width,
            *c.head_width);
    c.head_width = width;
  }
  c.attention_bias = kind != LlamaKind::qwen2 && tensors.has("blk.0.attn_q.bias");
  c.tie_output = !tensors.has("output.weight");
  take_token(entries, "tokenizer.ggml.bos_token_id", c.vocab, [&](int64_t id) { c.bos_id = id; });
  c.eos_ids = gguf::read_end_tokens(entries);
  check_layer_count(entries, c.layers, tensors);
  return naming(entries.where(), [&] { return completed(c); });
}

/// Reorders rows from Meta's Llama to transformers (the inverse is in export.cpp).
Tensor deinterleaved(const Tensor& values, int64_t heads) {
  const int64_t rows = values.size(0), columns = values.numel() / rows;
  return reshape(transpose(reshape(values, Shape{heads, rows / heads / 2, 2, columns}), 1, 2), values.shape());
}

void take_llama_layer(const LlamaConfig& c, int64_t layer, FileTensors& tensors, nn::StateDict& state) {
  const gguf::LayerNames names(layer);
  const int64_t width = c.d_model, own = c.heads * *c.head_width, shared = *c.kv_heads * *c.head_width;
  const std::map<std::string, Shape> shapes{
      {"attn_norm", {width}},           {"attn_q", {own, width}},      {"attn_k", {shared, width}},
      {"attn_v", {shared, width}},      {"attn_output", {width, own}}, {"attn_q_norm", {*c.head_width}},
      {"attn_k_norm", {*c.head_width}}, {"ffn_norm", {width}},         {"ffn_gate", {c.d_ff, width}},
      {"ffn_up", {c.d_ff, width}},      {"ffn_down", {width, c.d_ff}}};
  for (const auto& [theirs, ours] : gguf::kLlamaLayer) {
    const std::string name = theirs;
    if (name.ends_with("_norm") && name.starts_with("attn_") && name != "attn_norm" && c.kind != LlamaKind::qwen3)
      continue;
    const bool product = name.starts_with("attn_") && !name.ends_with("_norm");
    const bool bias = product && (name == "attn_output" ? c.attention_bias : has_input_biases(c));
    take_module(tensors, state, names.theirs + name, names.ours + ours, shapes.at(name), bias);
  }
  if (c.kind != LlamaKind::llama) return;
  for (const auto& [part, heads] : {std::pair{"query", c.heads}, {"key", *c.kv_heads}})
    for (const char* kind : {"weight", "bias"})
      if (const auto found = state.find(fmt::format("{}self_attention.{}.{}", names.ours, part, kind));
          found != state.end())
        found->second = deinterleaved(found->second, heads);
}

AnyModel import_llama(const GgufEntries& entries, FileTensors& tensors, LlamaKind kind) {
  LlamaConfig c = llama_config(entries, kind, tensors);
  const std::string prefix = fmt::format("{}.", to_string(kind));
  const auto divisors = [&] { return tensors.take("rope_freqs.weight", {*c.head_width / 2}); };
  c.rotary.scaling = gguf::read_scaling(entries, prefix, c, tensors.has("rope_freqs.weight") ? divisors() : Tensor());
  gguf::ignore_neutral_keys(entries, prefix, c.max_length, *c.head_width);
  entries.refuse_others(prefix);
  if (*c.head_width % 2 != 0)
    raise(ErrorKind::config, "{}: head width {} must be even for rotary positions", entries.where(), *c.head_width);
  nn::StateDict state;
  state["embeddings.token.weight"] = tensors.take("token_embd.weight", {c.vocab, c.d_model});
  for (int64_t i = 0; i < c.layers; ++i) take_llama_layer(c, i, tensors, state);
  take_module(tensors, state, "output_norm", "encoder.norm", {c.d_model}, false);
  state["output.weight"] =
      c.tie_output ? state.at("embeddings.token.weight") : tensors.take("output.weight", {c.vocab, c.d_model});
  tensors.refuse_others();
  return with_values<Llama>(entries, c, state);
}

AnyModel model_of(const GgufFile& file, const GgufEntries& entries) {
  FileTensors tensors(file.tensors, entries.where());
  if (entries.whole("split.count", 1) > 1)
    raise(ErrorKind::config, "{}: is one of several files of a split model (\"split.count\")", entries.where());
  const std::string architecture = entries.text("general.architecture");
  if (architecture == "gpt2") return import_gpt2(entries, tensors);
  for (const LlamaKind kind : {LlamaKind::llama, LlamaKind::qwen2, LlamaKind::qwen3})
    if (architecture == to_string(kind)) return import_llama(entries, tensors, kind);
  raise(ErrorKind::config, "{}: architecture \"{}\" is not supported; gpt2, llama, qwen2 and qwen3 are",
        entries.where(), architecture);
}

}  // namespace

AnyModel load_gguf_model(const std::string& path) {
  const NoGrad no_grad;
  const GgufFile file = load_gguf(path);
  return model_of(file, GgufEntries(file.metadata, path));
}

void import_gguf(const std::string& path, const std::string& folder) {
  const NoGrad no_grad;
  const GgufFile file = load_gguf(path);
  const GgufEntries entries(file.metadata, path);
  const AnyModel model = model_of(file, entries);
  write_tokenizer(entries, folder);
  try {
    naming(entries.where(), [&] { text::load_tokenizer(folder); });
  } catch (const Error&) {
    text::remove_tokenizer(folder);
    throw;
  }
  save(folder, model);
}

}  // namespace tape::models
