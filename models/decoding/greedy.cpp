#include "models/decoding/greedy.h"

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "base/check.h"
#include "models/decoding/decoder_rows.h"
#include "models/decoding/device_tokens.h"

namespace tape::models {
namespace {

std::vector<std::vector<int64_t>> greedy_on_device(EncoderDecoder& model, const Tensor& src,
                                                   const GreedyOptions& options) {
  const GenerateOptions o{.sampling = {.temperature = 0},
                          .max_new_tokens = options.max_length,
                          .stop_ids = {{options.eos}},
                          .seed = 0,
                          .vocabulary = options.vocabulary};
  GenerationBatch generated(o, model.options().tgt_vocab, {});
  for (int64_t row = 0; row < src.size(0); ++row) generated.add({options.bos});
  RunningRows rows(model, src, options.bos, options.use_cache);
  choose_on_device(generated, rows, model, o.max_new_tokens, steps_in_flight(o));
  std::vector<std::vector<int64_t>> found;
  for (Continuation& text : generated.finish()) found.push_back(std::move(text.tokens));
  return found;
}

}  // namespace

std::vector<std::vector<int64_t>> greedy_decode(EncoderDecoder& model, const Tensor& src,
                                                const GreedyOptions& options) {
  const DeviceScope on_model(model.device());
  check_at_least_one("greedy_decode", {{"max_length", options.max_length}});
  const int64_t rows_of_model = model.options().tgt_vocab;
  if (options.vocabulary < 0 || options.vocabulary > rows_of_model)
    raise(ErrorKind::config, "greedy_decode: vocabulary must be from 0 to the model's {}, got {}", rows_of_model,
          options.vocabulary);
  const NoGrad no_grad;
  if (reading_waits(model.device())) return greedy_on_device(model, src, options);
  std::vector<std::vector<int64_t>> found(static_cast<size_t>(src.size(0)));
  std::vector<bool> ended(found.size(), false);
  RunningRows rows(model, src, options.bos, options.use_cache);
  for (int64_t length = 1; length <= options.max_length && !rows.places().empty(); ++length) {
    const Tensor next = rows.likeliest(options.vocabulary).indices;
    std::vector<int64_t> tokens = next.to_vector<int64_t>();
    auto at_token = tokens.begin();
    for (const int64_t at : rows.places()) {
      const auto place = static_cast<size_t>(at);
      int64_t& token = *at_token++;
      ended[place] = ended[place] || token == options.eos;
      // Ended rows continue with eos regardless of the model's output, so that padding never enters.
      if (ended[place])
        token = options.eos;
      else
        found[place].push_back(token);
    }
    rows.follow(from_vector(tokens, next.shape()).to(next.device()), ended);
  }
  return found;
}

}  // namespace tape::models
