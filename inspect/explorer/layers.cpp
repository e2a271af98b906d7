#include "inspect/explorer/parts.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/ops/shape/shape.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kRows = 4;

Tensor first_rows(const Tensor& tensor, int64_t elements) {
  if (!tensor.defined()) return tensor;
  const NoGrad no_grad;
  const int64_t width = std::max<int64_t>(tensor.size(-1), 1), rows = tensor.numel() / width;
  const int64_t kept = std::min(rows, std::max(elements / width, kRows));
  return slice(reshape(tensor.detach(), Shape{rows, width}), 0, {.end = kept});
}

/// The rows of one call that the page stores.
struct ShownRows {
  Tensor input, output;
  Tensors gradients_output = {}, gradients_input = {};
};

ShownRows shown_rows(const Recording& recording, const LayerCall& call, int64_t most) {
  const int64_t elements = recording.is_detailed(call.module) ? call.input.numel() : most;
  ShownRows rows{.input = first_rows(call.input, elements), .output = first_rows(call.output, elements)};
  for (const Tensor& gradient : call.gradients_output) rows.gradients_output.push_back(first_rows(gradient, elements));
  for (const Tensor& gradient : call.gradients_input) rows.gradients_input.push_back(first_rows(gradient, elements));
  return rows;
}

Json list_json(const Tensors& tensors) {
  Json list = Json::array();
  for (const Tensor& tensor : tensors) list.push_back(tensor_json(tensor));
  return list;
}

}  // namespace

void add_layers(Json& data, const Recording& recording, int64_t elements) {
  const Study& study = recording.study();
  for (const char* name : {"layer_norms", "rms_norms", "activations", "rotaries"}) data[name] = Json::array();
  for (const LayerCall& call : recording.layers()) {
    const int64_t rows = call.input.numel() / std::max<int64_t>(call.input.size(-1), 1);
    const size_t text = text_of(study, call.module);
    const bool of_text = text < study.texts.size() && rows == std::ssize(study.texts[text].tokens);
    const ShownRows shown = shown_rows(recording, call, elements);
    Json json{{"module", call.module}, {"text", of_text ? Json(text) : Json(nullptr)}, {"rows", rows}};
    json.update(call.kind.settings());
    json["input"] = tensor_json(shown.input);
    json["output"] = tensor_json(shown.output);
    json["gradient_output"] = list_json(shown.gradients_output);
    json["gradient_input"] = list_json(shown.gradients_input);
    data[call.kind.list].push_back(std::move(json));
  }
}

Tensors layer_tensors(const Recording& recording, int64_t elements) {
  Tensors tensors;
  for (const LayerCall& call : recording.layers()) {
    const ShownRows shown = shown_rows(recording, call, elements);
    tensors.insert(tensors.end(), {shown.input, shown.output});
    tensors.insert(tensors.end(), shown.gradients_output.begin(), shown.gradients_output.end());
    tensors.insert(tensors.end(), shown.gradients_input.begin(), shown.gradients_input.end());
  }
  return tensors;
}

}  // namespace tape::inspect
