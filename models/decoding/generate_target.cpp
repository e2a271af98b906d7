#include <algorithm>

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "autograd/ops/index/index.h"
#include "models/decoding/decoder_rows.h"
#include "models/decoding/device_tokens.h"
#include "models/decoding/generate.h"
#include "models/decoding/generation_batch.h"
#include "models/heads/length_batches.h"

namespace tape::models {
namespace {

/// All sources in one batch, padded on the right.
Tensor batch_of(const std::vector<std::vector<int64_t>>& sources, int64_t padding_id) {
  std::vector<int64_t> all;
  for (int64_t row = 0; row < std::ssize(sources); ++row) all.push_back(row);
  return padded_rows(sources, all, padding_id);
}

/// Generates on a GPU without waiting for each token; the first and last tokens may be forced.
void generate_on_device(EncoderDecoder& model, GenerationBatch& generated, RunningRows& rows, int64_t most,
                        const std::optional<int64_t>& forced, const GenerateOptions& options) {
  const bool forced_eos = options.forced_eos.value_or(model.search.forced_eos) && most > 0;
  const std::vector<size_t> places(rows.places().begin(), rows.places().end());
  int64_t steps = forced_eos ? most - 1 : most;
  if (forced && steps > 0) {
    for (const size_t row : places) generated.append_next(row, *forced);
    if (options.use_cache) rows.logits();
    rows.append(full({std::ssize(places), 1}, *forced, i64));
    --steps;
  }
  choose_on_device(generated, rows, model, steps, steps_in_flight(options));
  if (forced_eos)
    for (const size_t row : generated.running()) generated.append_next(row, model.options().eos_id);
}

}  // namespace

std::vector<Continuation> generate(EncoderDecoder& model, const std::vector<std::vector<int64_t>>& sources,
                                   const GenerateOptions& options) {
  const DeviceScope on_model(model.device());
  const EncoderDecoderOptions& m = model.options();
  GenerationBatch generated(options, m.tgt_vocab, {m.eos_id}, model.search);
  for (size_t row = 0; row < sources.size(); ++row) {
    if (sources[row].empty()) raise(ErrorKind::config, "generate: source {} is empty", row);
    check_source("generate", m, sources[row], row);
  }
  const int64_t bos = options.bos.value_or(m.bos_id);
  const std::optional<int64_t> forced = options.forced_bos ? options.forced_bos : m.forced_bos;
  for (const int64_t first : {bos, forced.value_or(bos)})
    if (first < 0 || first >= m.tgt_vocab)
      raise(ErrorKind::index, "generate: the first token {} is not in 0..{}", first, m.tgt_vocab - 1);
  for (size_t row = 0; row < sources.size(); ++row) generated.add({bos});
  if (sources.empty()) return {};
  const NoGrad no_grad;
  RunningRows rows(model, batch_of(sources, m.padding_id), bos, options.use_cache);
  const int64_t most = std::min(options.max_new_tokens, m.max_length.value_or(options.max_new_tokens));
  if (reading_waits(model.device())) {
    generate_on_device(model, generated, rows, most, forced, options);
    return generated.finish();
  }
  const auto running = [&](size_t row) { return !generated.rows()[row].ended; };
  for (int64_t step = 0; step < most && !rows.places().empty(); ++step) {
    const std::vector<size_t> places(rows.places().begin(), rows.places().end());
    if (step + 1 == most && options.forced_eos.value_or(model.search.forced_eos)) {
      for (const size_t row : places)
        if (!generated.rows()[row].ended) generated.append_next(row, m.eos_id);
      break;
    }
    if (step == 0 && forced) {
      for (const size_t row : places) generated.append_next(row, *forced);
      // Feed bos for its cached keys and values; its output is not needed.
      if (options.use_cache) rows.logits();
    } else if (generated.is_greedy()) {
      generated.append_next(places, rows.likeliest(generated.vocab_limit()), running);
    } else if (const int64_t top_k = generated.top_k(places.size()); top_k > 0) {
      generated.append_next(places, rows.top_k(top_k, generated.vocab_limit()), running);
    } else {
      // Padding must not be generated: later positions would not see it.
      generated.append_next(places, model.without_padding(rows.logits()), running);
    }
    std::vector<int64_t> next;
    next.reserve(places.size());
    for (const size_t row : places) next.push_back(generated.rows()[row].ids.back());
    std::vector<bool> ended;
    for (const GenerationBatch::Row& row : generated.rows()) ended.push_back(row.ended);
    rows.follow(from_vector(next, {std::ssize(next), 1}), ended);
  }
  return generated.finish();
}

}  // namespace tape::models
