// Multi-head attention as textbooks draw it: every head is a small attention with its own projections.
#pragma once

#include "scores.h"

/// softmax(scores(Q K^T)) V with Q = query(q), K = key(k), V = value(v): q [B, Tq, C], k and v [B, Tk, C] ->
/// [B, Tq, D], weights [B, Tq, Tk].
struct AttentionHead : tape::nn::Module {
  tape::nn::Child<tape::nn::Linear> query, key, value;
  double scale;

  AttentionHead(int64_t width, int64_t head_width)
      : query(this, "query", width, head_width),
        key(this, "key", width, head_width),
        value(this, "value", width, head_width),
        scale(1 / std::sqrt(static_cast<double>(head_width))) {}

  tape::AttentionResult forward(const tape::Tensor& q, const tape::Tensor& k, const tape::Tensor& v,
                                const Scores& scores) {
    const tape::Tensor Q = query(q), K = key(k), V = value(v);                         // [B, T, D]
    const tape::Tensor weights = softmax(scores(matmul(Q, transpose(K)), scale), -1);  // [B, Tq, Tk]
    return {.output = matmul(weights, V), .weights = weights};
  }
};

/// output(concatenated heads): [B, Tq, C], weights [B, H, Tq, Tk].
struct SeparateHeads : tape::nn::Module {
  tape::nn::Children<AttentionHead> heads;
  tape::nn::Child<tape::nn::Linear> output;
  Scores scores = scaled;

  SeparateHeads(int64_t width, int64_t count)
      : heads(this, "heads", count, width, width / count), output(this, "output", width / count * count, width) {}

  tape::AttentionResult forward(const tape::Tensor& q, const tape::Tensor& k, const tape::Tensor& v) {
    tape::Tensors outputs, weights;
    for (int64_t h = 0; h < heads.size(); ++h) {
      const tape::AttentionResult head = heads[h](q, k, v, scores);
      outputs.push_back(head.output);
      weights.push_back(head.weights);
    }
    return {.output = output(cat(outputs, -1)), .weights = stack(weights, 1)};
  }
};
