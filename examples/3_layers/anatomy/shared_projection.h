// Multi-head attention whose heads share their projections. The input is split into heads first. One matrix
// [d_head, d_head] without bias then projects the queries of all heads; one each does the same for keys and values.
#pragma once

#include "scores.h"

/// q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C], weights [B, H, Tq, Tk].
struct SharedProjection : tape::nn::Module {
  int64_t heads, head_width;
  tape::nn::Child<tape::nn::Linear> query, key, value, output;
  Scores scores = scaled;

  SharedProjection(int64_t width, int64_t count)
      : heads(count),
        head_width(width / count),
        query(this, "query", head_width, head_width, {.bias = false}),
        key(this, "key", head_width, head_width, {.bias = false}),
        value(this, "value", head_width, head_width, {.bias = false}),
        output(this, "output", heads * head_width, width) {}

  tape::AttentionResult forward(const tape::Tensor& q, const tape::Tensor& k, const tape::Tensor& v) {
    const tape::Tensor Q = query(cut(q)), K = key(cut(k)), V = value(cut(v));  // [B, T, H, D]
    const tape::Tensor products = tape::einsum("bqhd,bkhd->bhqk", {Q, K});     // [B, H, Tq, Tk]
    const tape::Tensor weights = softmax(scores(products, 1 / std::sqrt(static_cast<double>(head_width))), -1);
    const tape::Tensor context = tape::einsum("bhqk,bkhd->bqhd", {weights, V});  // [B, Tq, H, D]
    return {.output = output(flatten(context, 2)), .weights = weights};
  }

 private:
  tape::Tensor cut(const tape::Tensor& x) const { return reshape(x, {x.size(0), x.size(1), heads, head_width}); }
};
