#include "models/encoder_decoders/translate.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "models/decoding/decoder_rows.h"
#include "models/heads/length_batches.h"
#include "nn/attention/attention_weights.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

int64_t alignment_layer(EncoderDecoder& model, const TranslateOptions& options) {
  const int64_t layers = model.decoder->layers.size();
  const int64_t layer = options.alignment_layer.value_or(std::max<int64_t>(0, layers - 2));
  if (layer < 0 || layer >= layers)
    raise(ErrorKind::config, "translate: alignment_layer must be from 0 to {}, got {}", layers - 1, layer);
  return layer;
}

void check(const EncoderDecoderOptions& config, std::span<const Ids> sources, const TranslateOptions& options) {
  if (options.max_length < 0)
    raise(ErrorKind::config, "translate: max_length must be at least 0 (0: by the source's length), got {}",
          options.max_length);
  for (size_t row = 0; row < sources.size(); ++row) check_source("translate", config, sources[row], row);
}

/// Beam options for sources of these lengths.
BeamOptions search_options(const EncoderDecoder& model, std::span<const int64_t> lengths,
                           const TranslateOptions& options) {
  const EncoderDecoderOptions& config = model.options();
  const SearchDefaults& own = model.search;
  BeamOptions search{.beams = options.beams.value_or(own.beams.value_or(4)),
                     .n_best = options.n_best,
                     .min_length = options.min_length.value_or(own.min_length),
                     .length_penalty = options.length_penalty.value_or(own.length_penalty.value_or(1)),
                     .bos = options.bos.value_or(config.bos_id),
                     .eos = config.eos_id,
                     .forced_bos = options.forced_bos ? options.forced_bos : config.forced_bos,
                     .vocabulary = options.vocabulary,
                     .no_repeat_ngram = options.no_repeat_ngram.value_or(own.no_repeat_ngram),
                     .forced_eos = options.forced_eos.value_or(own.forced_eos),
                     .early_stopping = options.early_stopping.value_or(own.early_stopping),
                     .scores = options.scores};
  for (const int64_t length : lengths) {
    const int64_t usual = own.max_length.value_or(std::max(3 * length + 20, search.min_length));
    const int64_t asked = options.max_length > 0 ? options.max_length : usual;
    search.max_lengths.push_back(std::min(asked, config.max_length.value_or(asked)));
  }
  if (!options.min_length && !lengths.empty())
    search.min_length = std::min(search.min_length, *std::ranges::min_element(search.max_lengths));
  return search;
}

/// Sets the alignment of one translation per source; a source without one has a null pointer.
void align(EncoderDecoder& model, std::span<const Ids> sources, std::span<Translation* const> translations,
           std::span<const int64_t> which, const TranslateOptions& options) {
  const EncoderDecoderOptions& config = model.options();
  std::vector<Ids> decoder_inputs;
  Ids all;
  for (Translation* const translation : translations) {
    all.push_back(std::ssize(decoder_inputs));
    decoder_inputs.push_back({options.bos.value_or(config.bos_id)});
    // A token is predicted at the position of the previous one, so the last token is not fed.
    if (translation && !translation->tokens.empty())
      decoder_inputs.back().insert(decoder_inputs.back().end(), translation->tokens.begin(),
                                   translation->tokens.end() - 1);
  }
  const nn::MultiHeadAttention& attention = *model.decoder->layers[alignment_layer(model, options)]->cross_attention;
  const nn::AttentionWeights kept(model, {&attention});
  model(padded_rows(sources, which, config.padding_id), padded_rows(decoder_inputs, all, config.padding_id));
  const Tensor weights = mean(kept.of(attention), {1});  // over heads, [B, T, S]
  for (size_t place = 0; place < translations.size(); ++place) {
    if (!translations[place]) continue;
    const Tensor row = select(weights, 0, static_cast<int64_t>(place));
    const int64_t length = std::ssize(sources[static_cast<size_t>(which[place])]);
    translations[place]->alignment =
        slice(slice(row, 0, {.end = std::ssize(translations[place]->tokens)}), 1, {.end = length});
  }
}

}  // namespace

std::vector<std::vector<Translation>> translate(EncoderDecoder& model, std::span<const Ids> sources,
                                                const TranslateOptions& options) {
  const DeviceScope on_model(model.device());
  const EncoderDecoderOptions& config = model.options();
  check(config, sources, options);
  alignment_layer(model, options);  // reject an invalid layer before searching
  const NoGrad no_grad;
  std::vector<std::vector<Translation>> found(sources.size());
  Ids lengths;
  for (const Ids& ids : sources) lengths.push_back(std::ssize(ids));
  for (const Ids& batch : batches_by_length(lengths, options.batch_tokens)) {
    Ids of_batch;
    for (const int64_t row : batch) of_batch.push_back(lengths[static_cast<size_t>(row)]);
    const BeamOptions search = search_options(model, of_batch, options);
    auto best = beam_search(model, padded_rows(sources, batch, config.padding_id), search);
    for (size_t place = 0; place < batch.size(); ++place) {
      if (best[place].empty())
        raise(ErrorKind::numeric, "translate: the model returns NaN or infinite scores for source {}", batch[place]);
      for (BeamHypothesis& h : best[place]) {
        const bool ended = h.length > std::ssize(h.tokens);
        found[static_cast<size_t>(batch[place])].push_back({std::move(h.tokens), h.score, ended});
      }
    }
    for (size_t rank = 0; options.alignments && rank < static_cast<size_t>(options.n_best); ++rank) {
      std::vector<Translation*> translations;
      for (const int64_t row : batch) {
        auto& of_row = found[static_cast<size_t>(row)];
        translations.push_back(rank < of_row.size() ? &of_row[rank] : nullptr);
      }
      align(model, sources, translations, batch, options);
    }
  }
  return found;
}

}  // namespace tape::models
