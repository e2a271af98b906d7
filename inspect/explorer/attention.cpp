#include "inspect/explorer/parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/shape/shape.h"
#include "base/module_path.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

/// The last number in a path: 2 for "encoder.layers.2.self_attention"; 0 if there is none.
int64_t layer_of(const std::string& module) {
  int64_t layer = 0;
  for (const std::string_view name : split_module_path(module)) {
    const char *number = name.data() + name.rfind('.') + 1, *end = name.data() + name.size();
    if (int64_t found = 0; std::from_chars(number, end, found).ptr == end) layer = found;
  }
  return layer;
}

/// Estimates the factor applied to query-key products from the scores: 1 / sqrt(D) up to rounding, unless the model
/// uses another.
double scale_of(const AttentionTensors& of) {
  const auto values = [](const Tensor& x) { return cast(x, f64).to_vector<double>(); };
  const std::vector<double> q = values(of.query), k = values(of.key), s = values(of.scores);
  const auto width = static_cast<size_t>(of.query.size(-1)), rows = static_cast<size_t>(of.query.size(-2)),
             columns = static_cast<size_t>(of.key.size(-2));
  double both = 0, squares = 0;
  for (size_t row = 0; row < q.size() / width; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      const size_t key = row / rows * columns + column;
      double dot = 0;
      for (size_t i = 0; i < width; ++i) dot += q[row * width + i] * k[key * width + i];
      both += dot * s[row * columns + column];
      squares += dot * dot;
    }
  }
  const double usual = 1 / std::sqrt(static_cast<double>(width)), found = squares > 0 ? both / squares : usual;
  return std::abs(found - usual) < 1e-4 * usual ? usual : found;
}

/// Removes the batch axis of size 1.
Tensor whole(const Tensor& tensor) {
  const NoGrad no_grad;
  return tensor.defined() ? select(tensor.detach(), 0, 0) : tensor;
}

/// Stores a mask once if it is the same for all heads.
Tensor short_mask(const Tensor& mask) {
  if (!mask.defined()) return mask;
  const NoGrad no_grad;
  const Tensor heads = whole(mask), first = slice(heads, 0, {.end = 1});
  return content_hash(heads) == content_hash(expand_to(first, heads.shape())) ? first : heads;
}

/// Tensors stored in the page. `all` adds values and contexts, which few views need.
std::vector<NamedTensor> parts_of(const AttentionTensors& of, bool all) {
  return {{"query", whole(of.query)},
          {"key", whole(of.key)},
          {"value", whole(all ? of.value : Tensor())},
          {"scores", whole(of.scores)},
          {"mask", short_mask(of.mask)},
          {"probabilities", whole(of.probabilities)},
          {"context", whole(all ? of.context : Tensor())}};
}

Json parts_json(const AttentionTensors& of, bool all) {
  Json json;
  for (const NamedTensor& part : parts_of(of, all)) json[part.name] = tensor_json(part.tensor);
  return json;
}

/// The tables of a RelativeAttention with their gradients; null for others.
Json relative_json(const Recording& recording, const std::string& module) {
  const auto& all = recording.relatives();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const RelativeTables& of) { return of.module == module; });
  if (found == all.end()) return nullptr;
  Json gradients = Json::array();
  for (size_t i = 0; i < found->key_gradients.size(); ++i)
    gradients.push_back(
        {{"keys", tensor_json(found->key_gradients[i])}, {"values", tensor_json(found->value_gradients[i])}});
  return {{"keys", tensor_json(found->layer->key_positions.detach())},
          {"values", tensor_json(found->layer->value_positions.detach())},
          {"gradients", std::move(gradients)}};
}

/// False for attention that is not between the texts, for example over pooled positions.
bool is_shown(const Study& study, const AttentionRecord& record) {
  const AttentionRole place = attention_role_of(study, record.module);
  return record.values.query.rank() == 4 && record.values.query.size(0) == 1 &&
         record.values.query.size(2) == std::ssize(study.texts[place.rows].tokens) &&
         record.values.key.size(2) == std::ssize(study.texts[place.columns].tokens);
}

}  // namespace

AttentionRole attention_role_of(const Study& study, const std::string& module) {
  if (module.find("cross_attention") != std::string::npos && study.texts.size() > 1) return {"cross", 1, 0};
  if (study.kind == "decoder") return {"decoder self", 0, 0};
  if (module.starts_with("decoder.") && study.texts.size() > 1) return {"decoder self", 1, 1};
  return {"encoder self", 0, 0};
}

Tensors attention_tensors(const Recording& recording, bool all) {
  Tensors tensors;
  const auto add = [&](const AttentionTensors& of) {
    for (const NamedTensor& part : parts_of(of, all)) tensors.push_back(part.tensor);
  };
  for (const RelativeTables& of : recording.relatives()) {
    tensors.insert(tensors.end(), {of.layer->key_positions.detach(), of.layer->value_positions.detach()});
    tensors.insert(tensors.end(), of.key_gradients.begin(), of.key_gradients.end());
    tensors.insert(tensors.end(), of.value_gradients.begin(), of.value_gradients.end());
  }
  for (size_t i = 0; i < recording.attention().size(); ++i)
    for (const AttentionRecord& record : recording.attention()[i]) {
      if (!is_shown(recording.study(), record)) continue;
      if (i == 0) add(record.values);
      add(record.gradients);
    }
  return tensors;
}

Json attention_json(const Recording& recording, bool all) {
  Json list = Json::array();
  if (recording.attention().empty()) return list;
  const Study& study = recording.study();
  for (size_t i = 0; i < recording.attention()[0].size(); ++i) {
    const AttentionRecord& record = recording.attention()[0][i];
    if (!is_shown(study, record)) continue;
    const AttentionRole place = attention_role_of(study, record.module);
    Json gradients = Json::array();
    for (const auto& records : recording.attention()) gradients.push_back(parts_json(records[i].gradients, all));
    list.push_back({{"module", record.module},
                    {"kind", place.kind},
                    {"layer", layer_of(record.module)},
                    {"heads", record.heads},
                    {"rows", place.rows},
                    {"columns", place.columns},
                    {"scale", scale_of(record.values)},
                    {"values", parts_json(record.values, all)},
                    {"gradients", std::move(gradients)}});
    if (Json relative = relative_json(recording, record.module); !relative.is_null())
      list.back()["relative"] = std::move(relative);
  }
  return list;
}

}  // namespace tape::inspect
