#include "inspect/live/live_engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "base/number_text.h"
#include "inspect/experiments/attention_probe.h"
#include "inspect/experiments/inspected_model_study.h"
#include "inspect/experiments/patch.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/explorer/parts.h"
#include "inspect/explorer/shared_data.h"
#include "inspect/live/live_edits.h"
#include "inspect/live/live_training.h"
#include "nn/attention/attention_weights.h"
#include "text/json.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/unknown_tokens.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

const char* live_kind(const models::AnyModel& model) {
  if (std::holds_alternative<std::unique_ptr<models::EncoderDecoder>>(model)) return "encoder-decoder";
  return std::holds_alternative<std::unique_ptr<models::CausalLM>>(model) ? "decoder" : "encoder";
}

double rounded_weight(double weight) { return std::round(weight * 1e5) / 1e5; }

/// [H, Tq, Tk] as lists.
Json weights_json(const Tensor& weights) {
  const std::vector<double> values = values_of(weights);
  const auto heads = static_cast<size_t>(weights.size(0)), queries = static_cast<size_t>(weights.size(1)),
             keys = static_cast<size_t>(weights.size(2));
  Json list = Json::array();
  for (size_t head = 0; head < heads; ++head) {
    Json rows = Json::array();
    for (size_t query = 0; query < queries; ++query) {
      Json row = Json::array();
      for (size_t key = 0; key < keys; ++key)
        row.push_back(rounded_weight(values[(head * queries + query) * keys + key]));
      rows.push_back(std::move(row));
    }
    list.push_back(std::move(rows));
  }
  return list;
}

/// Euclidean norm of a tensor's values.
double norm_of(const Tensor& x) {
  double squares = 0;
  for (const double value : values_of(x)) squares += value * value;
  return std::sqrt(squares);
}

std::vector<std::string> unknown_in(const text::Tokenizer& tokenizer, const std::string& text) {
  text::UnknownTokens unknown;
  unknown.add(tokenizer, tokenizer.encode(text), text);
  std::set<std::string> found = unknown.examples();
  if (const auto* bytes = dynamic_cast<const text::ByteLevelBpe*>(&tokenizer)) {
    text::DroppedCharacters dropped(*bytes);
    dropped.add(text);
    found.insert(dropped.examples().begin(), dropped.examples().end());
  }
  return {found.begin(), found.end()};
}

}  // namespace

class LiveEngine::Session {
 public:
  Json call(const LiveRequest& request) {
    const std::string name = request.text("call");
    if (name == "open") return open(request);
    if (!model_) raise(ErrorKind::config, "{}: call open first", name);
    if (name == "explore") return explore(request);
    if (name == "heads") return heads(request);
    if (name == "train_new") return train_new(request);
    if (name == "train") return train(request);
    if (name == "train_part") return train_part(request);
    if (name == "test") return test(request);
    if (name == "restore") return restore();
    raise(ErrorKind::config,
          "call: unknown call \"{}\"; known are open, explore, heads, train_new, train, train_part, test, restore",
          name);
  }

 private:
  const models::AnyModel& current() const { return trained_ ? *trained_ : *model_; }

  Json open(const LiveRequest& request) {
    folder_ = request.text("folder");
    training_.reset();
    trained_.reset();
    tokenizer_.reset();
    model_ = models::load_model(folder_);
    if (is_image_model(*model_)) {
      const std::string type = models::module_of(*model_).type_name();
      model_.reset();
      raise(ErrorKind::config, "open: {} contains a {}, which reads images, not texts", folder_, type);
    }
    tokenizer_ = text::load_tokenizer(folder_);
    nn::Module& module = models::module_of(*model_);
    trains_ = LiveTraining::supports(module, *tokenizer_);
    const std::optional<std::string> fixed = why_positions_are_fixed(module);
    return {{"class", module.type_name()},
            {"kind", live_kind(*model_)},
            {"parameters", module.parameter_count()},
            {"trains", trains_ ? Json("number_words") : Json(nullptr)},
            {"fixed_positions", fixed ? Json(*fixed) : Json(nullptr)}};
  }

  /// The study of a request's texts, and the target that its loss is of, for a later request.
  struct Input {
    Study study;
    std::vector<int64_t> target;
  };

  Input input(const LiveRequest& request) const {
    InspectOptions options{.text = request.text("text")};
    if (request.has("target_text")) options.text_b = request.text("target_text");
    std::vector<int64_t> target;
    if (request.has("target")) target = request.integers("target");
    if (const auto* classifier = std::get_if<std::unique_ptr<models::SequenceClassifier>>(&current())) {
      const std::vector<std::string> names = (*classifier)->config().label_names();
      if (target.size() > 1 || (!target.empty() && (target[0] < 0 || target[0] >= std::ssize(names))))
        raise(ErrorKind::config, "target: expected one label in [0, {}), got [{}]", names.size(),
              fmt::to_string(fmt::join(target, ", ")));
      if (!target.empty()) options.label = names[static_cast<size_t>(target[0])];
    } else if (request.has("target")) {
      options.target = target;
    }
    Study study = study_of(options);
    target = study.targets;
    if (study.texts.size() > 1) target.assign(study.texts[1].ids.begin() + 1, study.texts[1].ids.end());
    return {std::move(study), std::move(target)};
  }

  Study study_of(const InspectOptions& options) const {
    return inspect::study_of(current(), folder_, options, tokenizer_.get());
  }

  Json explore(const LiveRequest& request) const {
    const auto [study, target] = input(request);
    PageOptions options{.title = request.has("title")
                                     ? request.text("title")
                                     : page_title(models::module_of(current()), {.text = request.text("text")}, study,
                                                  tokenizer_.get())};
    options.bytes = request.optional_integer("bytes").value_or(options.bytes);
    std::vector<std::string> unknown = unknown_in(*tokenizer_, request.text("text"));
    if (request.has("target_text"))
      for (std::string& word : unknown_in(tokenizer_->target(), request.text("target_text")))
        unknown.push_back(std::move(word));
    const EditedStudy edited(study, parse_live_edits(request));
    Json answer{{"target", target}, {"unknown", unknown}};
    reserve_members(answer, 3);
    answer["data"] = share_repeated_data(explorer_data(edited.study(), options));
    return answer;
  }

  Json heads(const LiveRequest& request) const {
    const Study study = input(request).study;
    const NoGrad no_grad;
    const nn::AttentionWeights weights(*study.module);
    const std::vector<PageOutput> outputs = study.run();
    Json list = Json::array();
    for (const auto& [path, module] : study.module->named_modules()) {
      const Tensor of = is_attention(*module) ? weights.of(*module) : Tensor();
      const AttentionRole role = attention_role_of(study, path);
      const auto &queries = study.texts[role.rows].tokens, &keys = study.texts[role.columns].tokens;
      if (!of.defined() || of.size(0) != 1 || of.size(2) != std::ssize(queries) || of.size(3) != std::ssize(keys))
        continue;
      list.push_back({{"module", path},
                      {"heads", of.size(1)},
                      {"queries", queries},
                      {"keys", keys},
                      {"weights", weights_json(select(of, 0, 0))}});
    }
    return {{"attention", std::move(list)}, {"loss", outputs.at(0).value.item()}};
  }

  Json train_new(const LiveRequest& request) {
    const int64_t seed = request.integer("seed");
    if (!trains_) raise(ErrorKind::config, "train_new: {} does not contain a translator of number words", folder_);
    const auto& opened = dynamic_cast<const models::Transformer&>(models::module_of(*model_));
    training_.reset();
    models::TransformerConfig config = opened.config();
    config.dropout = 0;
    config.attention_dropout = config.activation_dropout = 0;
    manual_seed(static_cast<uint64_t>(seed));
    std::unique_ptr<models::EncoderDecoder> fresh = std::make_unique<models::Transformer>(config);
    fresh->search = opened.search;
    fresh->eval();
    training_ =
        std::make_unique<LiveTraining>(*fresh, *tokenizer_, LiveTrainingOptions{.seed = static_cast<uint64_t>(seed)});
    trained_ = std::move(fresh);
    return {{"parameters", models::module_of(*trained_).parameter_count()}};
  }

  LiveTraining& training(const char* call) const {
    if (!training_) raise(ErrorKind::config, "{}: call train_new first", call);
    return *training_;
  }

  Json train(const LiveRequest& request) const {
    LiveTraining& of = training("train");
    const int64_t steps = request.integer("steps");
    if (steps < 1) raise(ErrorKind::config, "steps: must be at least 1, got {}", steps);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<double> losses;
    for (int64_t i = 0; i < steps; ++i) losses.push_back(of.train());
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    return {{"step", of.step()}, {"steps", of.steps()},         {"losses", losses},
            {"lr", of.lr()},     {"grad_norm", of.grad_norm()}, {"ms", time.count()}};
  }

  Json train_part(const LiveRequest& request) const {
    LiveTraining& of = training("train_part");
    const std::string part = request.text("part");
    if (part == "forward") {
      const double loss = of.forward();
      Json batch = Json::array();
      for (const LivePair& pair : of.batch()) batch.push_back({{"source", pair.source}, {"target", pair.target}});
      return {{"step", of.step() + 1}, {"batch", std::move(batch)}, {"loss", loss}};
    }
    const std::vector<NamedTensor> parameters = models::module_of(current()).named_parameters();
    Json list = Json::array();
    if (part == "backward") {
      const double norm = of.backward();
      for (const NamedTensor& parameter : parameters) {
        const Tensor gradient = parameter.tensor.grad();
        list.push_back({{"name", parameter.name}, {"norm", gradient.defined() ? norm_of(gradient) : 0}});
      }
      return {{"grad_norm", norm}, {"parameters", std::move(list)}};
    }
    if (part != "update")
      raise(ErrorKind::config, "part: expected \"forward\", \"backward\" or \"update\", got \"{}\"", part);
    std::vector<Tensor> before;
    for (const NamedTensor& parameter : parameters) before.push_back(parameter.tensor.detach().clone());
    of.update();
    const NoGrad no_grad;
    for (size_t i = 0; i < parameters.size(); ++i)
      list.push_back({{"name", parameters[i].name},
                      {"norm", norm_of(parameters[i].tensor)},
                      {"change", norm_of(parameters[i].tensor - before[i])}});
    return {{"step", of.step()}, {"lr", of.lr()}, {"parameters", std::move(list)}};
  }

  Json test(const LiveRequest& request) const {
    const std::vector<LiveTraining::Sample> samples = training("test").test(request.integer("count"));
    Json list = Json::array();
    for (const LiveTraining::Sample& sample : samples)
      list.push_back({{"source", sample.pair.source}, {"expected", sample.pair.target}, {"output", sample.output}});
    return {{"right", std::ranges::count_if(samples, &LiveTraining::Sample::right)},
            {"count", samples.size()},
            {"samples", std::move(list)}};
  }

  Json restore() {
    training_.reset();
    trained_.reset();
    return Json::object();
  }

  std::string folder_;
  bool trains_ = false;  // whether LiveTraining can train the folder's model
  std::optional<models::AnyModel> model_, trained_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<LiveTraining> training_;
};

LiveEngine::LiveEngine() : session_(std::make_unique<Session>()) {}
LiveEngine::~LiveEngine() = default;

std::string LiveEngine::answer(std::string_view request) {
  std::string message = "an exception of an unknown type";
  try {
    const Json json = parse_json(std::string(request), "request");
    return dump_json({{"ok", session_->call(LiveRequest(json, ""))}});
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
  }
  // Errors of a study name the options of the command.
  if (message.starts_with("--")) message.erase(0, 2);
  return dump_json({{"error", message}});
}

}  // namespace tape::inspect
