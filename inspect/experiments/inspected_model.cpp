#include "inspect/experiments/inspected_model.h"

#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/scope.h"
#include "base/number_text.h"
#include "inspect/experiments/inspected_model_study.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/checkpoints/checkpoint.h"

namespace tape::inspect {
namespace {

models::AnyModel load_rounded(const std::string& folder, bool bf16_weights) {
  models::AnyModel model = models::load_model(folder);
  const NoGrad no_grad;
  if (bf16_weights)
    for (auto& [name, tensor] : models::module_of(model).state_dict())
      if (is_floating(tensor.dtype())) Tensor(tensor).copy_(cast(cast(tensor, bf16), tensor.dtype()));
  return model;
}

/// Returns null for image models.
std::unique_ptr<text::Tokenizer> tokenizer_of(const models::AnyModel& model, const std::string& folder) {
  const bool images = is_image_model(model);
  return images ? nullptr : text::load_tokenizer(folder);
}

/// The folder of the run whose log covers a model folder: that of a checkpoint is the one around it.
std::filesystem::path run_of(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string().starts_with("checkpoint-") ? path.parent_path() : path;
}

}  // namespace

InspectedModel::InspectedModel(const std::string& folder, const InspectOptions& options)
    : folder_(folder),
      options_(options),
      model_(load_rounded(folder, options.bf16)),
      tokenizer_(tokenizer_of(model_, folder)) {
  study_ = study_of(model_, folder, options_, tokenizer_.get());
}

InspectOptions InspectedModel::options_with_targets() const {
  InspectOptions options = options_;
  if (dynamic_cast<const models::EncoderDecoder*>(&models::module_of(model_)) != nullptr) {
    const std::vector<int64_t>& read = study_.texts.at(1).ids;
    options.target.emplace(read.begin() + 1, read.end());
  } else if (std::holds_alternative<std::unique_ptr<models::SequenceClassifier>>(model_) ||
             std::holds_alternative<std::unique_ptr<models::ImageClassifier>>(model_)) {
    if (!study_.targets.empty()) options.label = study_.token(study_.targets[0]);
  } else if (!study_.targets.empty()) {
    options.target = study_.targets;
  }
  return options;
}

InspectedModel InspectedModel::beside(const std::string& folder) const { return {folder, options_with_targets()}; }

Study InspectedModel::corrupted(const std::string& other) const {
  InspectOptions options = options_with_targets();
  options.corrupted = other;
  return study_of(model_, folder_, options, tokenizer_.get());
}

std::string page_title(const nn::Module& model, const InspectOptions& options, const Study& study,
                       const text::Tokenizer* tokenizer) {
  if (options.image)
    return fmt::format("{}: {}", model.type_name(), std::filesystem::path(*options.image).filename().string());
  std::string input = *options.text;
  if (dynamic_cast<const models::EncoderDecoder*>(&model) != nullptr)
    input += fmt::format(" → {}", options.text_b ? *options.text_b : tokenizer->target().decode(study.texts.at(1).ids));
  else if (options.text_b)
    input += fmt::format(" | {}", *options.text_b);
  return fmt::format("{}: {}", model.type_name(), input);
}

std::string InspectedModel::title() const {
  return page_title(models::module_of(model_), options_, study_, tokenizer_.get());
}

std::optional<double> InspectedModel::label_smoothing() const {
  std::ifstream log(run_of(folder_) / "log.jsonl");
  std::string line;
  if (!std::getline(log, line)) return std::nullopt;
  const auto start = nlohmann::json::parse(line, nullptr, false);
  if (!start.is_object() || !start.contains("options") || !start["options"].is_object()) return std::nullopt;
  const auto found = start["options"].find("label_smoothing");
  if (found == start["options"].end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

HeadAblation parse_head_ablation(const std::string& text) {
  const size_t colon = text.rfind(':');
  const auto head = colon == std::string::npos ? std::nullopt : parse_int(std::string_view(text).substr(colon + 1));
  if (!head || colon == 0) raise(ErrorKind::config, "--cut: expected MODULE:HEAD, got \"{}\"", text);
  return {.module = text.substr(0, colon), .head = *head};
}

ActivationPatch parse_activation_patch(const std::string& text) {
  ActivationPatch patch{.module = text};
  bool good = true;
  const auto number_after = [&](char sign, std::optional<int64_t>& number) {
    const size_t place = patch.module.rfind(sign);
    if (place == std::string::npos) return;
    number = parse_int(std::string_view(patch.module).substr(place + 1));
    good = good && number.has_value();
    patch.module.resize(place);
  };
  number_after('@', patch.position);
  number_after(':', patch.head);
  if (!good || patch.module.empty())
    raise(ErrorKind::config, "--patch: expected MODULE[:HEAD][@POSITION], got \"{}\"", text);
  return patch;
}

std::vector<Frame> record_runs(const InspectedModel& subject, const std::string& folder, const RunOptions& options) {
  std::vector<Frame> runs;
  if (!options.patches.empty() && !options.corrupted)
    raise(ErrorKind::config,
          "--patch: requires --corrupted, the run into which the clean run's activations are inserted");
  if (!options.film && options.beside.empty() && options.cuts.empty() && !options.corrupted) return runs;
  std::vector<HeadAblation> cuts;
  cuts.reserve(options.cuts.size());
  for (const std::string& cut : options.cuts) cuts.push_back(parse_head_ablation(cut));
  std::vector<ActivationPatch> patches;
  patches.reserve(options.patches.size());
  for (const std::string& patch : options.patches) patches.push_back(parse_activation_patch(patch));
  const auto add = [&](const Study& study, const std::string& name, const std::optional<HeadAblation>& cut = {}) {
    if (options.progress) options.progress(name);
    runs.push_back(record_frame(study, name, cut));
  };
  if (options.film) {
    const std::vector<int64_t> steps = train::checkpoint_steps(folder);
    if (steps.empty()) raise(ErrorKind::config, "--film: {} has no checkpoints", folder);
    for (const int64_t step : steps) {
      const std::string name = train::checkpoint_name(step);
      add(subject.beside(fmt::format("{}/{}", folder, name)).study(), name);
    }
  }
  add(subject.study(), folder);
  for (const std::string& other : options.beside) add(subject.beside(other).study(), other);
  for (const HeadAblation& cut : cuts)
    add(subject.study(), fmt::format("without head {} of {}", cut.head, cut.module), cut);
  if (!options.corrupted) return runs;
  const Study corrupted = subject.corrupted(*options.corrupted);
  add(corrupted, "corrupted");
  const Activations clean(subject.study());
  for (const ActivationPatch& patch : patches) {
    const std::string name = fmt::format("corrupted, clean {}", patch_name(patch));
    if (options.progress) options.progress(name);
    runs.push_back(record_frame(corrupted, name, clean, patch));
  }
  return runs;
}

}  // namespace tape::inspect
