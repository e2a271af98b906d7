#pragma once

#include <algorithm>

#include "autograd/create.h"
#include "autograd/random.h"

namespace tape {

/// Source ids [batch, length] for models of 13 words.
inline Tensor sources(uint64_t seed, int64_t batch, int64_t length) {
  Generator stream(seed);
  Tensor ids = randint(1, 13, {batch, length}, stream);
  for (int64_t row = 0; row < batch; ++row)  // row by row one more position of padding
    for (int64_t t = std::max<int64_t>(1, length - row); t < length; ++t)
      ids.mutable_data<int64_t>()[row * length + t] = 0;
  return ids;
}

}  // namespace tape
