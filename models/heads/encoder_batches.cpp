#include "models/heads/encoder_batches.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/scope.h"
#include "models/heads/length_batches.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

void check_input(const char* operation, const EncoderModel& base, const EncoderInput& input) {
  const auto& [sequences, type_ids] = input;
  if (!type_ids.empty() && type_ids.size() != sequences.size())
    raise(ErrorKind::shape, "{}: {} lists of segments for {} sequences", operation, type_ids.size(), sequences.size());
  for (size_t row = 0; row < sequences.size(); ++row) {
    const Ids& ids = sequences[row];
    if (std::ssize(ids) > base.max_length())
      raise(ErrorKind::shape, "{}: sequence {} has {} tokens, but the model has {} positions", operation, row,
            ids.size(), base.max_length());
    if (!type_ids.empty() && type_ids[row].size() != ids.size())
      raise(ErrorKind::shape, "{}: sequence {} has {} tokens and {} segments", operation, row, ids.size(),
            type_ids[row].size());
    for (size_t t = 0; t < ids.size(); ++t)
      if (ids[t] < 0 || ids[t] >= base.vocab())
        raise(ErrorKind::index, "{}: sequence {} has id {} at position {}, which is not in 0..{}", operation, row,
              ids[t], t, base.vocab() - 1);
  }
}

}  // namespace

void for_each_row(const char* operation, const EncoderModel& base, const EncoderInput& input, int64_t batch_tokens,
                  const BatchFunction& say, const RowCallback& take) {
  const DeviceScope on_model(base.device());
  check_input(operation, base, input);
  const int64_t padding = std::max<int64_t>(base.options().padding_id, 0);
  const NoGrad no_grad;
  Ids lengths;
  std::vector<Ids> seen;
  for (const Ids& ids : input.sequences) {
    lengths.push_back(std::ssize(ids));
    seen.emplace_back(ids.size(), 1);
  }
  for (const Ids& batch : batches_by_length(lengths, batch_tokens)) {
    const Mask mask = Mask::padding(padded_rows(seen, batch, 0), 0);
    const Tensor segments = input.type_ids.empty() ? Tensor() : padded_rows(input.type_ids, batch, 0);
    const Tensor said = cast(say(padded_rows(input.sequences, batch, padding), mask, segments), f64);
    const std::vector<double> values = said.to_vector<double>();
    const size_t width = values.size() / batch.size();
    for (size_t row = 0; row < batch.size(); ++row) {
      const std::span<const double> of_row(values.data() + row * width, width);
      if (!std::ranges::all_of(of_row, [](double value) { return std::isfinite(value); }))
        raise(ErrorKind::numeric, "{}: the model returns NaN or infinity for sequence {}", operation, batch[row]);
      take(static_cast<size_t>(batch[row]), of_row);
    }
  }
}

}  // namespace tape::models
