#include "train/model_memory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"
#include "base/physical_memory.h"

namespace tape::train {
namespace {

double of(int64_t size) { return static_cast<double>(size); }

/// Weights and biases.
double linear(double in, double out, bool bias = true) { return in * out + (bias ? out : 0); }
/// Queries, keys, values and the output.
double attention(double width) { return 4 * linear(width, width); }
double feed_forward(double width, double inner) { return linear(width, inner) + linear(inner, width); }
double norm(double width, bool bias = true) { return (bias ? 2 : 1) * width; }

double encoder_layer(double width, double inner) {
  return attention(width) + feed_forward(width, inner) + 2 * norm(width);
}
double encoder_layer(const nn::TransformerLayerOptions& o) {
  const double width = of(o.d_model), inner = of(o.d_ff);
  double self = 3 * linear(width, width, o.attention_bias.value_or(o.bias)) +
                linear(width, width, o.attention_output_bias.value_or(o.bias));
  if (o.disentangled && !o.disentangled->share_projections)
    self += (o.disentangled->terms == nn::PositionTerms::both ? 2 : 1) * linear(width, width);
  const double into = linear(width, inner, o.bias), back = linear(inner, width, o.bias);
  return self + (o.feed_forward == nn::FeedForwardKind::gated ? 2 : 1) * into + back + 2 * norm(width, o.norm_bias);
}
double decoder_layer(double width, double inner) {
  return 2 * attention(width) + feed_forward(width, inner) + 3 * norm(width);
}

/// An encoder without pooler or head.
struct Encoder {
  models::EncoderModelOptions parts;  // with one layer
  double width = 0, parameters = 0;
};
Encoder encoder_of(models::EncoderConfig config) {
  double layers = 0;
  std::visit([&](auto& encoder) { layers = of(std::exchange(encoder.layers, 1)); }, config);
  Encoder made{.parts = models::parts_of(config)};
  const nn::EmbeddingsOptions& e = made.parts.embeddings;
  const nn::TransformerLayerOptions& layer = made.parts.layers.front();
  const double width = made.width = of(e.d_model);
  const double skipped = e.positions_skip_padding ? of(made.parts.padding_id) + 1 : 0;
  double count = (of(e.vocab) + of(e.max_length) + skipped + of(e.segments)) * width + norm(width, e.norm_bias) +
                 layers * encoder_layer(layer);
  if (!layer.attention_norm) count -= norm(width, layer.norm_bias);             // of the first layer
  if (layer.norm == nn::NormPlace::pre) count += norm(width, layer.norm_bias);  // behind the last one
  if (made.parts.relative_bias) count += of(made.parts.relative_bias->buckets * layer.heads);
  if (layer.disentangled)
    count += of(2 * layer.disentangled->distances()) * width + (layer.disentangled->rows_norm_eps ? norm(width) : 0);
  made.parameters = count;
  return made;
}
double head(const nn::ClassificationHeadOptions& o, double width, double labels) {
  double count = linear(width, labels);
  if (o.activation) count += linear(width, width, o.dense_bias);
  if (o.activation && o.norm_eps) count += norm(width, o.norm_bias);
  return count;
}

}  // namespace

double parameter_count(const models::GptConfig& c) {
  const double width = of(c.d_model), inner = c.d_ff == 0 ? 4 * width : of(c.d_ff);
  const double tables = (of(c.vocab) * (c.tie_output ? 1 : 2) + of(c.max_length)) * width;
  return tables + of(c.layers) * encoder_layer(width, inner) + norm(width);
}

double parameter_count(const models::LlamaConfig& config) {
  const models::LlamaConfig c = completed(config);
  const double width = of(c.d_model), inner = of(c.d_ff), head = of(*c.head_width);
  const double queries = of(c.heads) * head, keys = of(*c.kv_heads) * head;
  const bool bias = has_input_biases(c);
  const double self = linear(width, queries, bias) + 2 * linear(width, keys, bias) +
                      linear(queries, width, c.attention_bias) + (c.kind == models::LlamaKind::qwen3 ? 2 * head : 0);
  const double gated = 2 * linear(width, inner, c.mlp_bias) + linear(inner, width, c.mlp_bias);
  return of(c.vocab) * (c.tie_output ? 1 : 2) * width + of(c.layers) * (self + gated + 2 * width) + width;
}

double parameter_count(const models::GptNeoXConfig& c) {
  const double width = of(c.d_model);
  const double self = 4 * linear(width, width, c.attention_bias);
  return of(c.vocab) * (c.tie_output ? 1 : 2) * width +
         of(c.layers) * (self + feed_forward(width, of(c.d_ff)) + 2 * norm(width)) + norm(width);
}

double parameter_count(const models::TransformerConfig& c) {
  const double width = of(c.d_model), source = of(c.src_vocab), target = of(c.tgt_vocab);
  const double tables = (c.share_embeddings ? target : source + target) + (c.tie_output ? 0 : target);
  const double bias = c.output_bias.value_or(!c.tie_output) ? target : 0;
  const double stacks =
      of(c.layers) * encoder_layer(width, of(c.d_ff)) +
      of(c.decoder_layers.value_or(c.layers)) * decoder_layer(width, of(c.decoder_d_ff.value_or(c.d_ff)));
  return tables * width + bias + stacks + (c.norm == nn::NormPlace::pre ? 2 * norm(width) : 0);
}

double parameter_count(const models::SequenceClassifierConfig& c) {
  const Encoder encoder = encoder_of(c.encoder);
  const bool pooler = encoder.parts.sequence_reads_pooler && c.pooling == nn::Pooling::first;
  return encoder.parameters + (pooler ? linear(encoder.width, encoder.width) : 0) +
         head(encoder.parts.sequence, encoder.width, of(c.num_labels));
}

double parameter_count(const models::TokenClassifierConfig& c) {
  const Encoder encoder = encoder_of(c.encoder);
  return encoder.parameters + head(encoder.parts.token, encoder.width, of(c.num_labels));
}

double parameter_count(const models::SentenceEncoderConfig& c) {
  double parameters = encoder_of(c.encoder).parameters;
  for (const models::SentenceModuleOptions& o : c.modules) {
    if (o.kind == models::SentenceModuleKind::layer_norm) parameters += 2 * of(o.in);
    if (o.kind != models::SentenceModuleKind::dense) continue;
    parameters += linear(of(o.in), of(o.out), o.bias);
    if (o.residual && o.in != o.out) parameters += linear(of(o.in), of(o.out), false);
  }
  return parameters;
}

double parameter_count(const models::EncoderConfig& c) {
  const Encoder encoder = encoder_of(c);
  const nn::MaskedTokenHeadOptions& o = encoder.parts.masked_token;
  // The decoder's matrix is the token table.
  return encoder.parameters + linear(encoder.width, encoder.width, o.dense_bias) +
         norm(encoder.width, o.norm_bias.value_or(o.dense_bias)) +
         (o.decoder_bias.value_or(o.dense_bias) ? of(encoder.parts.embeddings.vocab) : 0);
}

void check_memory(const char* task, double parameters, const TaskOptions& run, const std::string& root) {
  const int64_t machine = physical_memory(), allowed = control_group_limit(root).value_or(machine);
  const double each = 4, gradient = run.step_in_backward ? 0 : each;
  const double in_training = each + gradient + (run.moments == optim::MomentKind::bf16 ? each : 2 * each);
  const double there = of(std::min(machine, allowed));
  if (in_training * parameters <= there) return;
  raise(ErrorKind::out_of_memory, "{}: {:.3e} parameters take {}, with {}Adam's means {}; {} {}", task, parameters,
        bytes_text(each * parameters), gradient > 0 ? "their gradients and " : "", bytes_text(in_training * parameters),
        allowed < machine ? "the control group of this process may use" : "this machine has", bytes_text(there));
}

}  // namespace tape::train
