#include "nn/attention_steps.h"

#include "autograd/create.h"

namespace tape::nn {

int64_t checked_width(const char* layer, int64_t d_model, int64_t heads) {
  if (d_model < 1 || heads < 1 || d_model % heads != 0)
    raise(ErrorKind::config, "{}: d_model {} is not divisible by heads {}", layer, d_model, heads);
  return d_model;
}

Tensor rows_by_distance(int64_t query_length, int64_t key_length, const std::function<int64_t(int64_t)>& row_of) {
  Tensor rows = empty({query_length, key_length}, i64);
  int64_t* values = rows.mutable_data<int64_t>();
  for (int64_t i = 0; i < query_length; ++i)
    for (int64_t j = 0; j < key_length; ++j) values[i * key_length + j] = row_of(j - i);
  return rows;
}

}  // namespace tape::nn
