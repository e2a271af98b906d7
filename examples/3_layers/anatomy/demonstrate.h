// What the programs here show of a layer: its weights under each kind of mask, and whether its gradients are right.
#pragma once

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "scores.h"

/// Each way of hiding the keys behind a query, by name.
inline std::vector<std::pair<std::string, Scores>> ways_to_hide(int64_t queries, int64_t keys) {
  return {{"nothing hidden", scaled},
          {"filled with -inf before the scale", filled(future(queries, keys), -INFINITY)},
          {"filled with -1e20", filled(future(queries, keys), -1e20)},
          {"triu(1) * -inf added", added(minus_infinity_above(queries, keys))}};
}

/// What is added to all keys alike shifts all scores of a query alike, which softmax does not see: the gradient of a
/// key's bias is zero by right.
inline tape::GradcheckOptions with_zero_key_biases(const tape::nn::Module& layer) {
  tape::GradcheckOptions options;
  for (const tape::NamedTensor& parameter : layer.named_parameters())
    if (parameter.name.ends_with("key.bias")) options.allow_zero.push_back(parameter.name);
  return options;
}

inline bool verdict(const tape::GradcheckReport& report) {
  const std::string text = to_string(report);
  std::cout << (report.ok() ? text.substr(0, text.find('\n')) : text) << "\n\n";
  return report.ok();
}

/// Encoder-decoder attention of 3 queries to 4 keys in each way. Returns whether all gradients are right.
template <class Layer>
bool demonstrate(Layer& layer) {
  std::cout << layer << "\n\n";
  const tape::Tensor queries = tape::randn({2, 3, 8}, tape::f64), memory = tape::randn({2, 4, 8}, tape::f64);
  layer.to(tape::f64);
  bool right = true;
  for (const auto& [name, scores] : ways_to_hide(3, 4)) {
    layer.scores = scores;
    std::cout << name << ", weights of the first head:\n"
              << layer.forward(queries, memory, memory).weights[0][0].detach() << "\n";
    right &= verdict(gradcheck(layer, {queries, memory, memory}, with_zero_key_biases(layer)));
  }
  return right;
}
