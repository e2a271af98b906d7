#pragma once

#include "../../nn/decoder.h"
#include "attention.h"

// Encoders and decoders as operators of a graph.
namespace tape::models::onnx {

/// A `cache` that is given holds keys and values of the positions in front, and gets those of x behind them.
Value forward(Graph& g, const nn::EncoderLayer& layer, const Value& x, Surroundings& around,
              KeyValues* cache = nullptr);
/// `caches` has one for each layer, or none.
Value forward(Graph& g, const nn::Encoder& stack, const Value& x, Surroundings& around,
              std::vector<KeyValues>* caches = nullptr);

/// `around` is of the positions of x, `around_memory` of the memory's.
Value forward(Graph& g, const nn::DecoderLayer& layer, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory);
Value forward(Graph& g, const nn::Decoder& stack, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory);

}  // namespace tape::models::onnx
