#pragma once

#include "../../nn/transformer/decoder.h"
#include "attention.h"

// Encoders and decoders as operators of a graph.
namespace tape::models::onnx {

/// A `cache` that is given holds keys and values of the positions in front, and gets those of x behind them.
Value forward(Graph& g, const nn::EncoderLayer& layer, const Value& x, Surroundings& around,
              KeyValues* cache = nullptr);
/// `caches` has one for each layer, or none.
Value forward(Graph& g, const nn::Encoder& stack, const Value& x, Surroundings& around,
              std::vector<KeyValues>* caches = nullptr);

/// Keys and values that a decoder's layer hands on.
struct DecoderKeyValues {
  KeyValues self;    ///< of the positions in front; gets those of x behind them
  KeyValues memory;  ///< of the memory, taken in its place; where there are none they are read and put here
};

/// `around` is of the positions of x, `around_memory` of the memory's.
Value forward(Graph& g, const nn::DecoderLayer& layer, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory, DecoderKeyValues& cache);
/// `caches` has one for each layer.
Value forward(Graph& g, const nn::Decoder& stack, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory, std::vector<DecoderKeyValues>& caches);

}  // namespace tape::models::onnx
