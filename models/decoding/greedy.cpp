#include "models/decoding/greedy.h"

#include "autograd/create.h"
#include "base/check.h"
#include "models/decoding/decoder_rows.h"

namespace tape::models {
std::vector<std::vector<int64_t>> greedy_decode(EncoderDecoder& model, const Tensor& src,
                                                const GreedyOptions& options) {
  const DeviceScope on_model(model.device());
  check_at_least_one("greedy_decode", {{"max_length", options.max_length}});
  const int64_t rows_of_model = model.options().tgt_vocab;
  if (options.vocabulary < 0 || options.vocabulary > rows_of_model)
    raise(ErrorKind::config, "greedy_decode: vocabulary must be from 0 to the model's {}, got {}", rows_of_model,
          options.vocabulary);
  const NoGrad no_grad;
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
