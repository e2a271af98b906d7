// Shared by the programs of this folder: prints a layer's attention weights under each mask and checks its gradients.
#pragma once

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "scores.h"

/// Ways to mask the keys after each query's position, with their names.
inline std::vector<std::pair<std::string, Scores>> masking_variants(int64_t queries, int64_t keys) {
  return {{"no mask", scaled},
          {"filled with -inf before the scale", filled(future(queries, keys), -INFINITY)},
          {"filled with -1e20", filled(future(queries, keys), -1e20)},
          {"triu(1) * -inf added", added(causal_bias(queries, keys))}};
}

/// A key bias adds the same amount to all scores of a query, which does not change their softmax. Its gradient is zero,
/// so the check must allow that.
inline tape::GradcheckOptions allow_zero_key_biases(const tape::nn::Module& layer) {
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

/// Runs encoder-decoder attention of 3 queries over 4 keys under each mask. Returns whether all gradients are right.
template <class Layer>
bool demonstrate(Layer& layer) {
  std::cout << layer << "\n\n";
  const tape::Tensor queries = tape::randn({2, 3, 8}, tape::f64), memory = tape::randn({2, 4, 8}, tape::f64);
  layer.to(tape::f64);
  bool right = true;
  for (const auto& [name, scores] : masking_variants(3, 4)) {
    layer.scores = scores;
    std::cout << name << ", weights of the first head:\n"
              << layer.forward(queries, memory, memory).weights[0][0].detach() << "\n";
    right &= verdict(gradcheck(layer, {queries, memory, memory}, allow_zero_key_biases(layer)));
  }
  return right;
}
