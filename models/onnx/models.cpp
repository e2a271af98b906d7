#include "models/onnx/models.h"

#include <cmath>

#include "models/onnx/stacks.h"

namespace tape::models::onnx {
namespace {

const OnnxSize kBatch = "batch_size";

/// Inputs of a model that reads one sequence, and its layers' surroundings.
struct Sequence {
  Value ids, attention_mask, positions;
  Surroundings around;
};

/// Ids [batch_size, length] with their mask, at places from 0 on.
Sequence begin_sequence(Graph& g, const std::string& prefix, const std::string& length) {
  const Value ids = g.input(prefix + "input_ids", i64, {kBatch, length});
  const Value mask = g.input(prefix + "attention_mask", i64, {kBatch, length});
  const Value from_0 = places(g, g.whole(0), g.size(ids, 1));
  return {ids, mask, from_0, Surroundings(mask, distances(g, from_0, from_0), from_0, false)};
}

void give_logits(Graph& g, const CausalLM& model, const Value& hidden) {
  const Value scores = forward(g, model.output, hidden);
  const bool logits = model.output->gives() == nn::TokenOutput::logits;
  g.output(logits ? "logits" : "probabilities", scores, {kBatch, "sequence_length", model.vocab()});
}

/// The hidden states of a Bert, and the mask that it was given.
std::pair<Value, Value> run_bert(Graph& g, const Bert& model) {
  Sequence in = begin_sequence(g, "", "sequence_length");
  Value segments;
  if (model.embeddings->segment) segments = g.input("token_type_ids", i64, {kBatch, "sequence_length"});
  const Inside inside(g, model);
  const Value x = forward(g, model.embeddings, in.ids, in.positions, segments);
  return {forward(g, *model.encoder, x, in.around), in.attention_mask};
}

Value embed(Graph& g, const Transformer& model, const nn::Child<nn::Embedding>& table, const Sequence& in) {
  Value x = forward(g, table, in.ids);
  if (model.config().scale_embedding)
    x = g.multiply(x, g.number(std::sqrt(static_cast<double>(model.config().d_model))));
  return forward(g, model.positions, x, in.positions);
}

}  // namespace

void describe(Graph& g, const CausalLM& model) {
  Sequence in = begin_sequence(g, "", "sequence_length");
  const Value x = forward(g, model.embeddings, in.ids, in.positions, Value());
  give_logits(g, model, forward(g, *model.encoder, x, in.around.causal()));
}

void describe_with_past(Graph& g, const CausalLM& model) {
  const OnnxSize all = "past_sequence_length + sequence_length", next = "sequence_length";
  const Value ids = g.input("input_ids", i64, {kBatch, next}), mask = g.input("attention_mask", i64, {kBatch, all});
  const Value positions = g.input("position_ids", i64, {kBatch, next});
  const nn::Encoder& encoder = *model.encoder;
  std::vector<KeyValues> caches;
  const auto shape_of = [&encoder](int64_t layer, const OnnxSize& length) -> std::vector<OnnxSize> {
    const nn::MultiHeadAttention& attention = *encoder.layers[layer]->self_attention;
    return {kBatch, attention.kv_heads(), length, attention.head_width()};
  };
  for (int64_t i = 0; i < encoder.layers.size(); ++i) {
    const std::vector<OnnxSize> shape = shape_of(i, "past_sequence_length");
    const std::string past = fmt::format("past_key_values.{}.", i);
    const Value key = g.input(past + "key", f32, shape), value = g.input(past + "value", f32, shape);
    caches.push_back({key, value});
  }
  const Value length = g.size(mask, 1);
  const Value keys = places(g, g.whole(0), length);
  const Value queries = places(g, g.subtract(length, g.size(ids, 1)), length);
  Surroundings around(mask, distances(g, queries, keys), positions, true);
  const Value x = forward(g, model.embeddings, ids, positions, Value());
  give_logits(g, model, forward(g, encoder, x, around.causal(), &caches));
  for (int64_t i = 0; i < encoder.layers.size(); ++i) {
    const KeyValues& cache = caches[static_cast<size_t>(i)];
    g.output(fmt::format("present.{}.key", i), cache.key, shape_of(i, all));
    g.output(fmt::format("present.{}.value", i), cache.value, shape_of(i, all));
  }
}

void describe(Graph& g, const Bert& model) {
  const Value hidden = run_bert(g, model).first;
  g.output("last_hidden_state", hidden, {kBatch, "sequence_length", model.config().d_model});
  if (model.pooler) g.output("pooler_output", forward(g, *model.pooler, hidden), {kBatch, model.config().d_model});
}

void describe(Graph& g, const MaskedLanguageModel& model) {
  const Value logits = forward(g, model.head, run_bert(g, *model.bert).first);
  g.output("logits", logits, {kBatch, "sequence_length", model.config().vocab});
}

void describe(Graph& g, const SequenceClassifier& model) {
  const auto [hidden, mask] = run_bert(g, *model.bert);
  Value pooled;
  if (model.config().pooling == nn::Pooling::mean) {
    pooled = mean_pool(g, hidden, mask);
  } else {
    const Inside inside(g, *model.bert);
    pooled = forward(g, *model.bert->pooler, hidden);
  }
  g.output("logits", forward(g, model.head, pooled), {kBatch, model.config().num_labels});
}

void describe(Graph& g, const Transformer& model) {
  Sequence source = begin_sequence(g, "", "encoder_sequence_length");
  Sequence target = begin_sequence(g, "decoder_", "decoder_sequence_length");
  Surroundings memory(source.attention_mask);
  const Value read = forward(g, *model.encoder, embed(g, model, model.src_embedding, source), source.around);
  const Value written =
      forward(g, *model.decoder, embed(g, model, model.tgt_embedding, target), read, target.around.causal(), memory);
  g.output("logits", forward(g, model.output, written), {kBatch, "decoder_sequence_length", model.config().tgt_vocab});
}

}  // namespace tape::models::onnx
