#include "inspect/explorer/parts.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/order.h"
#include "autograd/ops/norm/softmax.h"
#include "base/utf8.h"
#include "inspect/run_report/thin.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTokens = 12;  // per position, at least

std::string tokens_text(const std::vector<Study::Text>& texts) {
  std::vector<std::string> all;
  all.reserve(texts.size());
  for (const Study::Text& text : texts) all.push_back(fmt::format("{}", fmt::join(text.tokens, " ")));
  return clipped(fmt::format("{}", fmt::join(all, " / ")), 80);
}

void check_fits(const Recording& recording, const Frame& run) {
  const std::vector<Study::Text>& texts = recording.study().texts;
  const bool same = std::ranges::equal(texts, run.texts, [&](const Study::Text& a, const Study::Text& b) {
    return run.corrupted ? a.tokens.size() == b.tokens.size() : a.tokens == b.tokens;
  });
  if (!same)
    raise(ErrorKind::config, "{}: reads the text as \"{}\", the page's model as \"{}\": runs need the same tokens",
          run.name, tokens_text(run.texts), tokens_text(texts));
  const std::vector<PageOutput>& outputs = recording.outputs();
  if (outputs.size() != run.outputs.size())
    raise(ErrorKind::config, "{}: returns {} outputs, but the page's model {}", run.name, run.outputs.size(),
          outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto &known = outputs[i].prediction, &given = run.outputs[i].prediction;
    if (known.has_value() != given.has_value() || (known && known->targets != given->targets))
      raise(ErrorKind::config, "{}: output \"{}\" has other targets than the page's \"{}\"", run.name,
            run.outputs[i].name, outputs[i].name);
    if (known && known->logits.size(-1) != given->logits.size(-1))
      raise(ErrorKind::config, "{}: predicts one of {} tokens, but the page's model one of {}", run.name,
            given->logits.size(-1), known->logits.size(-1));
  }
}

/// For each row the target, followed by the likeliest tokens of all runs: the first of each run, then the second, etc.
Tensor common_tokens(const std::vector<const Frame*>& runs, size_t output) {
  const Prediction& first = *runs[0]->outputs[output].prediction;
  const int64_t width = first.logits.size(-1);
  const auto count = static_cast<size_t>(std::min(width, static_cast<int64_t>(std::max(kTokens, runs.size() + 1))));
  std::vector<std::vector<int64_t>> ranked;
  ranked.reserve(runs.size());
  for (const Frame* run : runs)
    ranked.push_back(topk(score_rows(run->outputs[output].prediction->logits), static_cast<int64_t>(count))
                         .indices.to_vector<int64_t>());
  std::vector<int64_t> tokens;
  for (size_t row = 0; row < first.targets.size(); ++row) {
    const auto begin = std::ssize(tokens);
    tokens.push_back(first.targets[row]);
    for (size_t rank = 0; rank < count; ++rank)
      for (const std::vector<int64_t>& of_run : ranked) {
        const int64_t token = of_run[row * count + rank];
        const bool full = tokens.size() == (row + 1) * count;
        if (!full && std::find(tokens.begin() + begin, tokens.end(), token) == tokens.end()) tokens.push_back(token);
      }
  }
  return from_vector(tokens, {std::ssize(first.targets), static_cast<int64_t>(count)});
}

Json log_p(const Prediction& prediction, const Tensor& tokens) {
  return tensor_json(gather(log_softmax(cast(score_rows(prediction.logits), f64), -1), 1, tokens));
}

constexpr int64_t bytes_in_base64(int64_t elements) { return elements * 16 / 3; }  // base64 of f32

int64_t bytes_of_predictions(const Frame& run) {
  int64_t elements = 0;
  for (const PageOutput& output : run.outputs)
    if (output.prediction) elements += std::ssize(output.prediction->targets) * static_cast<int64_t>(kTokens);
  return bytes_in_base64(elements);
}

int64_t bytes_of_run(const Frame& run) {
  int64_t bytes = bytes_of_predictions(run);
  for (const Frame::Attention& attention : run.attention) bytes += bytes_in_base64(attention.weights.numel());
  return bytes;
}

/// Number of attention modules of a run, counted from the last, that fit into `bytes`; at least one.
size_t fitting_modules(const Frame& run, int64_t bytes) {
  size_t fitting = 0;
  int64_t taken = bytes_of_predictions(run);
  for (auto attention = run.attention.rbegin(); attention != run.attention.rend(); ++attention, ++fitting) {
    taken += bytes_in_base64(attention->weights.numel());
    if (fitting > 0 && taken > bytes) break;
  }
  return fitting;
}

Json run_json(const Frame& run, const std::vector<Tensor>& tokens, size_t modules) {
  Json values = Json::array(), attention = Json::array(), predictions = Json::array();
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    values.push_back(run.outputs[i].value.item());
    predictions.push_back(tokens[i].defined() ? log_p(*run.outputs[i].prediction, tokens[i]) : Json(nullptr));
  }
  const size_t first = run.attention.size() - std::min(modules, run.attention.size());
  for (size_t i = first; i < run.attention.size(); ++i)
    attention.push_back({{"module", run.attention[i].module}, {"weights", tensor_json(run.attention[i].weights)}});
  Json texts = nullptr;
  if (run.corrupted) {
    texts = Json::array();
    for (const Study::Text& text : run.texts) texts.push_back(text.tokens);
  }
  return {{"name", run.name},
          {"texts", std::move(texts)},
          {"values", std::move(values)},
          {"attention", std::move(attention)},
          {"log_p", std::move(predictions)}};
}

}  // namespace

Json runs_json(const Recording& recording, const std::vector<Frame>& runs, int64_t bytes) {
  const NoGrad no_grad;
  int64_t largest = 1;
  for (const Frame& run : runs) {
    check_fits(recording, run);
    largest = std::max(largest, bytes_of_run(run));
  }
  std::vector<const Frame*> kept;
  for (const size_t i : evenly_spaced(runs.size(), static_cast<size_t>(std::max<int64_t>(bytes / largest, 2))))
    kept.push_back(&runs[i]);
  const Study& study = recording.study();
  std::vector<Tensor> tokens;
  Json names = Json::object(), lists = Json::array(), frames = Json::array();
  for (size_t i = 0; i < recording.outputs().size(); ++i) {
    tokens.push_back(recording.outputs()[i].prediction ? common_tokens(kept, i) : Tensor());
    if (!tokens[i].defined()) {
      lists.push_back(nullptr);
      continue;
    }
    const std::vector<int64_t> ids = tokens[i].to_vector<int64_t>();
    for (const int64_t id : ids) names[std::to_string(id)] = study.token ? study.token(id) : std::to_string(id);
    lists.push_back(ids);
  }
  size_t modules = 0, all_modules = 0;
  for (const Frame* run : kept) {
    modules = std::max(modules, fitting_modules(*run, bytes / std::ssize(kept)));
    all_modules = std::max(all_modules, run->attention.size());
  }
  for (const Frame* run : kept) frames.push_back(run_json(*run, tokens, modules));
  return {{"of", runs.size()},          {"modules", modules},        {"modules_of", all_modules},
          {"tokens", std::move(lists)}, {"names", std::move(names)}, {"frames", std::move(frames)}};
}

}  // namespace tape::inspect
