#include "text/corpus/batch.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace tape::text {
namespace {

using Sequences = std::span<const std::vector<int64_t>>;

std::size_t longest(Sequences sequences) {
  std::size_t length = 0;
  for (const auto& sequence : sequences) length = std::max(length, sequence.size());
  return length;
}

void check_ids(Sequences sequences, std::string_view side, int64_t pad) {
  for (std::size_t row = 0; row < sequences.size(); ++row) {
    for (std::size_t i = 0; i < sequences[row].size(); ++i) {
      const int64_t id = sequences[row][i];
      if (id < 0) raise(ErrorKind::index, "pad_batch: {} {} has the negative id {} at position {}", side, row, id, i);
      if (id == pad) {
        raise(ErrorKind::index, "pad_batch: {} {} has the padding id {} at position {}", side, row, id, i);
      }
    }
  }
}

}  // namespace

PaddedBatch pad_batch(Sequences sources, Sequences targets, const SpecialIds& special) {
  if (sources.size() != targets.size()) {
    raise(ErrorKind::shape, "pad_batch: {} sources but {} targets", sources.size(), targets.size());
  }
  check_ids(sources, "source", special.pad);
  check_ids(targets, "target", special.pad);
  const std::size_t rows = sources.size();
  const std::size_t src_length = longest(sources);
  const std::size_t tgt_length = rows == 0 ? 0 : longest(targets) + 1;  // one more for bos or eos

  PaddedBatch out{.src = std::vector<int64_t>(rows * src_length, special.pad),
                  .tgt_in = std::vector<int64_t>(rows * tgt_length, special.pad),
                  .tgt_out = std::vector<int64_t>(rows * tgt_length, special.pad),
                  .batch = static_cast<int64_t>(rows),
                  .src_length = static_cast<int64_t>(src_length),
                  .tgt_length = static_cast<int64_t>(tgt_length)};
  for (std::size_t row = 0; row < rows; ++row) {
    std::ranges::copy(sources[row], out.src.data() + row * src_length);
    int64_t* in = out.tgt_in.data() + row * tgt_length;
    *in = special.bos;
    std::ranges::copy(targets[row], in + 1);
    *std::ranges::copy(targets[row], out.tgt_out.data() + row * tgt_length).out = special.eos;
  }
  return out;
}

}  // namespace tape::text
