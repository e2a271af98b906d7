#include <cmath>

#include "nn/attention/attention.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck self_attention("MultiHeadAttention", "self", [](const Checker& check) {
  MultiHeadAttention layer(4, 2, {.dropout = 0.2});
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});

const ModuleCheck cross_attention("MultiHeadAttention", "cross", [](const Checker& check) {
  MultiHeadAttention layer(4, 2, {.bias = false});
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 5, 4}, 2), sample_normal({2, 5, 4}, 3)});
});

const ModuleCheck grouped_queries("MultiHeadAttention", "grouped queries", [](const Checker& check) {
  MultiHeadAttention layer(8, 4, {.dropout = 0.2, .kv_heads = 2, .scale = 0.7});
  return check(layer, {sample_normal({2, 3, 8}, 1), sample_normal({2, 4, 8}, 2), sample_normal({2, 4, 8}, 3)},
               "key.bias");
});

const ModuleCheck turned_keys("MultiHeadAttention", "rotary, multi-query", [](const Checker& check) {
  MultiHeadAttention layer(8, 2, {.kv_heads = 1, .rotary = RotaryOptions{.fraction = 0.5}});
  return check(layer, {sample_normal({2, 3, 8})});
});

const ModuleCheck normed_heads("MultiHeadAttention", "head norms, rotary, explicit head width",
                               [](const Checker& check) {
                                 MultiHeadAttention layer(6, 2,
                                                          {.bias = false,
                                                           .kv_heads = 1,
                                                           .rotary = RotaryOptions{.scaling = LinearScaling{2}},
                                                           .head_width = 4,
                                                           .query_key_norm = RMSNormOptions{}});
                                 return check(layer, {sample_normal({2, 3, 6})});
                               });

const ModuleCheck windowed_keys("MultiHeadAttention", "window, separate biases", [](const Checker& check) {
  MultiHeadAttention layer(4, 2, {.dropout = 0.2, .output_bias = false, .window = AttentionWindow{2, 1}});
  return check(layer, {sample_normal({2, 5, 4})}, "key.bias");
});

}  // namespace
}  // namespace tape::nn
