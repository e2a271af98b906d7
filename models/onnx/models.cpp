#include "models/onnx/models.h"

#include <fmt/format.h>

#include "models/onnx/layers.h"

namespace tape::models::onnx {
namespace {

constexpr const char* kBatch = "batch_size";

/// Inputs of a model that reads one sequence, and the values shared by its layers.
struct Sequence {
  Value ids, attention_mask, positions;
  AttentionContext attention_context;
};

/// Ids [batch_size, length] with their mask, at positions from 0.
Sequence begin_sequence(Graph& g, const std::string& prefix, const std::string& length) {
  const Value ids = g.input(prefix + "input_ids", i64, {kBatch, length});
  const Value mask = g.input(prefix + "attention_mask", i64, {kBatch, length});
  const Value from_0 = places(g, g.whole(0), g.size(ids, 1));
  return {ids, mask, from_0, AttentionContext(mask, distances(g, from_0, from_0), from_0, false)};
}

void add_logits_output(Graph& g, const CausalLM& model, const Value& hidden) {
  const Value scores = forward(g, model.output, hidden);
  const bool logits = model.output->gives() == nn::TokenOutput::logits;
  g.output(logits ? "logits" : "probabilities", scores, {kBatch, "sequence_length", model.vocab()});
}

/// An encoder's hidden states, and its mask.
std::pair<Value, Value> run_encoder(Graph& g, const EncoderModel& model) {
  Sequence in = begin_sequence(g, "", "sequence_length");
  Value segments;
  if (model.segments() > 0) segments = g.input("token_type_ids", i64, {kBatch, "sequence_length"});
  const GraphScope inside(g, model);
  const Value x = forward(g, model.embeddings, in.ids, in.positions, segments);
  return {forward(g, *model.encoder, x, in.attention_context), in.attention_mask};
}

/// The first position of each row: hidden [B, T, C] -> [B, C].
Value first_place(Graph& g, const Value& hidden) {
  return g.op("Gather", {hidden, g.whole(0)}, {{"axis", int64_t{1}}});
}

/// Input of a stack of an encoder-decoder model: norm(scale * token + position), as far as these exist.
Value read_tokens(Graph& g, const EncoderDecoder& model, const Value& ids, const Value& positions, bool source) {
  Value x = forward(g, source ? model.src_embedding : model.tgt_embedding, ids);
  if (model.options().embedding_scale != 1) x = g.multiply(x, g.number(model.options().embedding_scale));
  if (model.positions && model.options().positions_skip_padding)
    x = forward(g, *model.positions, x, positions, ids, model.options().padding_id);
  else if (model.positions)
    x = forward(g, *model.positions, x, positions);
  if (const auto& learned = source ? model.src_positions : model.tgt_positions) x = forward(g, *learned, x, positions);
  const auto& norm = source ? model.src_norm : model.tgt_norm;
  return norm ? forward(g, *norm, x) : x;
}

/// The memory of a source, and its mask.
std::pair<Value, Value> run_encoder(Graph& g, const EncoderDecoder& model) {
  Sequence in = begin_sequence(g, "", "encoder_sequence_length");
  const Value x = read_tokens(g, model, in.ids, in.positions, true);
  return {forward(g, *model.encoder, x, in.attention_context), in.attention_mask};
}

void add_logits_output(Graph& g, const EncoderDecoder& model, Value written) {
  if (model.options().output_scale != 1) written = g.multiply(written, g.number(model.options().output_scale));
  g.output("logits", forward(g, model.output, written), {kBatch, "decoder_sequence_length", model.options().tgt_vocab});
}

/// Either decoder: with keys and values of earlier tokens, or with the memory's hidden states.
void build_decoder_graph(Graph& g, const EncoderDecoder& model, bool with_past) {
  const std::string source = "encoder_sequence_length", next = "decoder_sequence_length",
                    past = "past_decoder_sequence_length", all = with_past ? past + " + " + next : next;
  const nn::Decoder& decoder = *model.decoder;
  const Value ids = g.input("input_ids", i64, {kBatch, next});
  AttentionContext memory_context(g.input("encoder_attention_mask", i64, {kBatch, source}));
  std::vector<DecoderKeyValues> caches(static_cast<size_t>(decoder.layers.size()));
  Value memory;
  if (!with_past) memory = g.input("encoder_hidden_states", f32, {kBatch, source, model.options().decoder.d_model});
  // Names and sizes of a layer's keys and values, in optimum's order.
  const auto visit = [&](const char* prefix, const std::string& length, bool memories, auto&& use) {
    for (int64_t i = 0; i < decoder.layers.size(); ++i) {
      DecoderKeyValues& cache = caches[static_cast<size_t>(i)];
      const auto visit_part = [&](const char* part, KeyValues& kv, const std::string& size,
                                  const nn::MultiHeadAttention& attention) {
        const std::vector<OnnxSize> shape{kBatch, attention.kv_heads(), size, attention.head_width()};
        use(fmt::format("{}.{}.{}.key", prefix, i, part), kv.key, shape);
        use(fmt::format("{}.{}.{}.value", prefix, i, part), kv.value, shape);
      };
      visit_part("decoder", cache.self, length, *decoder.layers[i]->self_attention);
      if (memories) visit_part("encoder", cache.memory, source, *decoder.layers[i]->cross_attention);
    }
  };
  if (with_past)
    visit("past_key_values", past, true,
          [&](const std::string& name, Value& value, const std::vector<OnnxSize>& shape) {
            value = g.input(name, f32, shape);
          });
  const Value begin = with_past ? g.size(caches.front().self.key, 2) : g.whole(0);
  const Value end = g.add(begin, g.size(ids, 1));
  const Value queries = places(g, begin, end), keys = places(g, g.whole(0), end);
  // All earlier targets are visible.
  const Value rows = g.op("Shape", {ids}, {{"end", int64_t{1}}});
  const Value seen = g.op("Expand", {g.whole(1), g.concat({rows, g.unsqueeze(end, {0})}, 0)});
  AttentionContext attention_context(seen, distances(g, queries, keys), queries, false);
  const Value x = read_tokens(g, model, ids, queries, false);
  add_logits_output(g, model, forward(g, decoder, x, memory, attention_context.causal(), memory_context, caches));
  visit("present", all, !with_past,
        [&](const std::string& name, const Value& value, const std::vector<OnnxSize>& shape) {
          g.output(name, value, shape);
        });
}

/// Hidden states of a Vit: pixels -> [B, 1 + patches, C].
Value run_vit(Graph& g, const Vit& model) {
  const nn::PatchEmbeddings& patches = *model.embeddings;
  const Shape& weight = patches.projection->weight.shape();  // [C, channels, P, P]
  const std::vector<int64_t> grid = patches.grid();
  const Value pixels = g.input("pixel_values", f32, {kBatch, weight[1], grid[0] * weight[2], grid[1] * weight[3]});
  const GraphScope inside(g, model);
  Value x;
  {
    const GraphScope within(g, patches);
    x = forward(g, patches.projection, pixels);                                 // [B, C, rows, columns]
    x = g.permute(g.reshape(x, {0, weight[0], grid[0] * grid[1]}), {0, 2, 1});  // [B, patches, C]
    // The class token precedes every row of a batch.
    const Value rows = g.op("Shape", {pixels}, {{"end", int64_t{1}}});
    const Value shape = g.concat({rows, g.wholes({1, weight[0]})}, 0);
    const Value first = g.op("Expand", {g.array("class_token", patches.class_token), shape});
    x = g.add(g.concat({first, x}, 1), g.array("position", patches.position));
  }
  const Value from_0 = places(g, g.whole(0), g.whole(1 + grid[0] * grid[1]));
  const Value ones = g.op("Expand", {g.whole(1), g.op("Shape", {x}, {{"end", int64_t{2}}})});
  AttentionContext attention_context(ones, distances(g, from_0, from_0), from_0, false);
  return forward(g, *model.encoder, x, attention_context);
}

}  // namespace

void build_graph(Graph& g, const CausalLM& model) {
  Sequence in = begin_sequence(g, "", "sequence_length");
  const Value x = forward(g, model.embeddings, in.ids, in.positions, Value());
  add_logits_output(g, model, forward(g, *model.encoder, x, in.attention_context.causal()));
}

void build_graph_with_past(Graph& g, const CausalLM& model) {
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
  AttentionContext attention_context(mask, distances(g, queries, keys), positions, true);
  const Value x = forward(g, model.embeddings, ids, positions, Value());
  add_logits_output(g, model, forward(g, encoder, x, attention_context.causal(), &caches));
  for (int64_t i = 0; i < encoder.layers.size(); ++i) {
    const KeyValues& cache = caches[static_cast<size_t>(i)];
    g.output(fmt::format("present.{}.key", i), cache.key, shape_of(i, all));
    g.output(fmt::format("present.{}.value", i), cache.value, shape_of(i, all));
  }
}

void build_graph(Graph& g, const EncoderModel& model) {
  const Value hidden = run_encoder(g, model).first;
  g.output("last_hidden_state", hidden, {kBatch, "sequence_length", model.width()});
  if (model.pooler) g.output("pooler_output", forward(g, *model.pooler, hidden), {kBatch, model.width()});
}

void build_graph(Graph& g, const MaskedLanguageModel& model) {
  const Value logits = forward(g, model.head, run_encoder(g, *model.base).first);
  g.output("logits", logits, {kBatch, "sequence_length", model.base->vocab()});
}

void build_graph(Graph& g, const SequenceClassifier& model) {
  const auto [hidden, mask] = run_encoder(g, *model.base);
  Value pooled;
  if (model.config().pooling == nn::Pooling::mean) {
    pooled = mean_pool(g, hidden, mask);
  } else if (!model.base->pooler) {
    pooled = first_place(g, hidden);
  } else {
    const GraphScope inside(g, *model.base);
    pooled = forward(g, *model.base->pooler, hidden);
  }
  g.output("logits", forward(g, model.head, pooled), {kBatch, model.config().num_labels});
}

void build_graph(Graph& g, const TokenClassifier& model) {
  const Value logits = forward(g, model.head, run_encoder(g, *model.base).first);
  g.output("logits", logits, {kBatch, "sequence_length", model.config().num_labels});
}

void build_graph(Graph& g, const QuestionAnswerer& model) {
  const Value logits = forward(g, model.head, run_encoder(g, *model.base).first);
  const char* const names[] = {"start_logits", "end_logits"};
  for (const int64_t end : {0, 1})
    g.output(names[end], g.op("Gather", {logits, g.whole(end)}, {{"axis", int64_t{2}}}), {kBatch, "sequence_length"});
}

void build_graph(Graph& g, const EncoderDecoder& model) {
  const auto [memory, mask] = run_encoder(g, model);
  Sequence target = begin_sequence(g, "decoder_", "decoder_sequence_length");
  AttentionContext memory_context(mask);
  std::vector<DecoderKeyValues> caches(static_cast<size_t>(model.decoder->layers.size()));
  const Value x = read_tokens(g, model, target.ids, target.positions, false);
  add_logits_output(g, model,
                    forward(g, *model.decoder, x, memory, target.attention_context.causal(), memory_context, caches));
}

void build_encoder_graph(Graph& g, const EncoderDecoder& model) {
  const Value memory = run_encoder(g, model).first;
  g.output("last_hidden_state", memory, {kBatch, "encoder_sequence_length", model.options().encoder.d_model});
}

void build_decoder_graph(Graph& g, const EncoderDecoder& model) { build_decoder_graph(g, model, false); }

void build_decoder_graph_with_past(Graph& g, const EncoderDecoder& model) { build_decoder_graph(g, model, true); }

void build_graph(Graph& g, const Vit& model) {
  const Value hidden = run_vit(g, model);
  const Shape& places = model.embeddings->position.shape();
  g.output("last_hidden_state", hidden, {kBatch, places[1], places[2]});
  if (model.pooler) g.output("pooler_output", forward(g, *model.pooler, hidden), {kBatch, places[2]});
}

void build_graph(Graph& g, const ImageClassifier& model) {
  const Value logits = forward(g, model.classifier, first_place(g, run_vit(g, *model.vit)));
  g.output("logits", logits, {kBatch, model.config().num_labels});
}

}  // namespace tape::models::onnx
