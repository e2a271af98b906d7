#include "inspect/explorer/explorer_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "base/check.h"
#include "base/file.h"
#include "inspect/explorer/parts.h"
#include "inspect/explorer/shared_data.h"
#include "inspect/explorer/value_sizes.h"
#include "inspect/web_page.h"
#include "text/json.h"
#include "train/memory/machine.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const Study& study) {
  const nn::Module* module = study.module;
  return {{"kind", study.kind},
          {"class", module ? module->type_name() : "function"},
          {"parameters", module ? module->parameter_count() : 0},
          {"tree", module ? nn::to_string(*module) : ""}};
}

/// Pixels as bytes, scaled from the smallest to the largest value.
Json image_json(const Study::Image& image) {
  const NoGrad no_grad;
  const Tensor pixels = cast(image.pixels, f64);
  const Tensor finite = where(isfinite(pixels), pixels, scalar(0, pixels.options()));
  const double low = min(finite).item(), span = max(finite).item() - low;
  const std::vector<double> values = ((finite - low) * (span > 0 ? 255 / span : 0)).to_vector<double>();
  std::string bytes;
  bytes.reserve(values.size());
  for (const double value : values) bytes += static_cast<char>(static_cast<unsigned char>(std::lround(value)));
  return {{"rows", image.rows},       {"columns", image.columns}, {"channels", pixels.size(1)},
          {"height", pixels.size(2)}, {"width", pixels.size(3)},  {"pixels", base64(bytes)}};
}

Json texts_json(const Study& study) {
  Json list = Json::array();
  for (const Study::Text& text : study.texts) {
    Json json{{"name", text.name}, {"tokens", text.tokens}};
    if (!text.segments.empty()) json["segments"] = text.segments;
    if (text.image) json["image"] = image_json(*text.image);
    list.push_back(std::move(json));
  }
  return list;
}

constexpr ElementLimits kMinLimits{.activations = 256, .parameters = 16, .layers = 512};

/// Tensors that the page stores outside the tape: attention, and layers with at most `layers` elements per tensor.
Tensors tensors_outside_tape(const Recording& recording, bool contexts, int64_t layers) {
  Tensors tensors = attention_tensors(recording, contexts);
  for (const Tensor& tensor : layer_tensors(recording, layers)) tensors.push_back(tensor);
  return tensors;
}

/// Bytes of all values under any limits.
class PageSize {
 public:
  explicit PageSize(const Recording& recording) : recording_(recording), sizes_(recording) {
    ValueSizes::Tensors all;
    all.add(attention_tensors(recording, true));
    bytes_with_contexts_ = sizes_.bytes({}, all);
  }
  /// With all of attention and nothing else in full.
  int64_t bytes_with_contexts() const { return bytes_with_contexts_; }
  int64_t bytes_besides() const { return sizes_.bytes_besides(); }
  /// Call once before bytes().
  void leave_out_contexts(bool without) { attention_.add(attention_tensors(recording_, !without)); }
  int64_t bytes(const ElementLimits& limits) {
    if (beside_.tensors.empty() || limits.layers != layers_) {
      beside_ = attention_;
      beside_.add(layer_tensors(recording_, limits.layers));
      layers_ = limits.layers;
    }
    return sizes_.bytes(limits, beside_);
  }

 private:
  const Recording& recording_;
  const ValueSizes sizes_;
  int64_t bytes_with_contexts_ = 0, layers_ = 0;
  ValueSizes::Tensors attention_, beside_;  // beside_: for this limit of layers
};

/// Finds limits under which the values fit into `room` bytes: reduces parameters first, then activations down to what a
/// picture requires, then rows of layers, then the rest. Within 1/64 of the largest limit that fits.
ElementLimits fitting_limits(PageSize& size, const PageOptions& options, int64_t room) {
  constexpr ElementLimits kPicture{.activations = 512, .parameters = 1024};
  ElementLimits limits{.activations = options.elements, .parameters = options.elements, .layers = options.elements};
  const auto fit = [&] { return size.bytes(limits) <= room; };
  // Lowers this limit until the values fit, at most to `least`; returns whether they fit.
  const auto lowered = [&](int64_t& limit, int64_t least) {
    if (fit()) return true;
    int64_t above = limit;
    limit = std::min(limit, least);
    if (!fit()) return false;
    while (above - limit > std::max<int64_t>(limit / 64, 1)) {
      const int64_t kept = limit;
      limit =
          std::max(kept + 1, static_cast<int64_t>(std::sqrt(static_cast<double>(kept) * static_cast<double>(above))));
      if (fit()) continue;
      above = limit;
      limit = kept;
    }
    return true;
  };
  const bool all = lowered(limits.parameters, kPicture.parameters) ||
                   lowered(limits.activations, kPicture.activations) || lowered(limits.layers, kMinLimits.layers) ||
                   lowered(limits.activations, kMinLimits.activations);
  if (!all) lowered(limits.parameters, kMinLimits.parameters);
  return limits;
}

/// The report ends with a link to each wrong node in the page.
Json gradcheck_json(const Recording& recording, const GradcheckReport& report, const std::string& address) {
  Json rows = Json::array(), guilty = Json::array();
  for (const GradcheckResult& result : report.variables)
    rows.push_back(
        {{"name", result.name}, {"shape", result.shape.to_vector()}, {"error", result.max_error}, {"ok", result.ok()}});
  std::string text = to_string(report);
  std::set<size_t> nodes;
  for (const GuiltyOperation& one : report.guilty)
    for (const size_t node : guilty_nodes(recording, one)) nodes.insert(node);
  for (const size_t node : nodes) {
    guilty.push_back(node);
    text += fmt::format("{}its picture: {}#view=tape&node={}\n", text.ends_with('\n') ? "" : "\n", address, node);
  }
  return {{"passed", report.ok()}, {"text", text}, {"rows", std::move(rows)}, {"guilty", std::move(guilty)}};
}

/// Approximate length of serialized JSON.
int64_t bytes_as_json(const Json& json) {
  if (json.is_string()) return std::ssize(json.get_ref<const std::string&>()) + 3;
  if (!json.is_structured()) return json.is_number_float() ? 12 : 5;
  int64_t bytes = 2;
  for (const auto& [key, inner] : json.items())
    bytes += bytes_as_json(inner) + (json.is_object() ? std::ssize(key) + 3 : 0);
  return bytes;
}

}  // namespace

Json explorer_data(const Study& study, const PageOptions& options) {
  check_at_least_one("explorer", {{"elements", options.elements}});
  // Before the recording, which would otherwise store the operations of all these runs.
  const std::optional<Nudges> nudged =
      options.nudges ? std::optional(run_nudges(study, *options.nudges)) : std::nullopt;
  Recording recording(study, {.elements = options.elements, .detail = options.detail});
  Json outputs = Json::array();
  for (const PageOutput& output : recording.outputs())
    outputs.push_back({{"name", output.name}, {"value", output.value.item()}});
  const train::Machine machine = train::machine();
  const auto dtype = to_string(recording.outputs()[0].value.dtype());
  const std::vector<GuiltyOperation> guilty =
      options.gradcheck ? options.gradcheck->guilty : std::vector<GuiltyOperation>();
  // If attention would fill a third of the page, values and contexts are left out.
  PageSize size(recording);
  const bool contexts = size.bytes_with_contexts() < options.bytes / 3;
  size.leave_out_contexts(!contexts);
  Json data{{"title", options.title},
            {"made_by", fmt::format("tapeformer {}, {}, {}", machine.version, machine.cpu, dtype)},
            {"model", model_json(study)},
            {"texts", texts_json(study)},
            {"outputs", std::move(outputs)},
            {"predictions", predictions_json(recording)},
            {"attention", attention_json(recording, contexts)},
            {"tape", nullptr}};
  reserve_members(data, 24);
  const Json nudges = nudged ? nudges_json(recording, *nudged) : Json(nullptr);
  // Everything besides tensor data: names, shapes, formulas and the likely tokens of each position.
  Json tape = tape_json(recording, guilty);
  const int64_t around = bytes_as_json(tape) + size.bytes_besides() + bytes_as_json(nudges) +
                         bytes_as_json(data["texts"]) + bytes_as_json(data["predictions"]);
  // Bytes left if the values are truncated as far as possible.
  const int64_t left = options.bytes - around - size.bytes(kMinLimits);
  data["runs"] = options.runs.empty()
                     ? Json(nullptr)
                     : runs_json(recording, options.runs, std::clamp(left, options.bytes / 16, options.bytes / 4));
  const int64_t room = options.bytes - around - bytes_as_json(data["runs"]);
  const ElementLimits limits = fitting_limits(size, options, room);
  recording.keep_whole(tensors_outside_tape(recording, contexts, limits.layers));
  add_values(tape, recording, limits);
  data["tape"] = std::move(tape);
  add_layers(data, recording, limits.layers);
  if (options.title.empty()) data["title"] = data["model"]["class"];
  if (options.label_smoothing) data["model"]["label_smoothing"] = *options.label_smoothing;
  data["nudges"] = nudges;
  data["patching"] = options.patching ? patching_json(*options.patching) : Json(nullptr);
  data["gradcheck"] = nullptr;
  if (options.gradcheck) data["gradcheck"] = gradcheck_json(recording, *options.gradcheck, options.address);
  return data;
}

void write_page(const std::string& path, const Study& study, const PageOptions& options) {
  write_page(path, explorer_data(study, options));
}

void write_page(const std::string& path, const Json& data) {
  write_file(path, web_page("explorer.html", share_repeated_data(data)));
}

}  // namespace tape::inspect
