#include "models/folder.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "autograd/safetensors.h"

namespace tape::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kModelType = "tapeformer-transformer";

/// One list of keys for both directions.
template <class Config, class Visit>
void visit_keys(Config& c, Visit&& visit) {
  visit("src_vocab_size", c.src_vocab);
  visit("tgt_vocab_size", c.tgt_vocab);
  visit("d_model", c.d_model);
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("d_ff", c.d_ff);
  visit("dropout", c.dropout);
  visit("activation", c.activation);
  visit("norm", c.norm);
  visit("norm_eps", c.norm_eps);
  visit("max_length", c.max_length);
  visit("pad_token_id", c.padding_id);
  visit("share_embeddings", c.share_embeddings);
  visit("tie_output", c.tie_output);
}

constexpr std::array kActivations{nn::ActivationKind::relu, nn::ActivationKind::gelu, nn::ActivationKind::gelu_tanh,
                                  nn::ActivationKind::silu, nn::ActivationKind::tanh, nn::ActivationKind::sigmoid};

Json value_of(int64_t v) { return v; }
Json value_of(double v) { return v; }
Json value_of(bool v) { return v; }
Json value_of(nn::ActivationKind v) { return std::string(nn::to_string(v)); }
Json value_of(nn::NormPlace v) { return v == nn::NormPlace::pre ? "pre" : "post"; }

/// Reads one key strictly: nlohmann's own conversions turn 1.9 into 1 and 1e300 into 0 without a word.
class Reader {
 public:
  Reader(const Json& json, const std::string& where) : json_(json), where_(where) {}

  void operator()(const char* key, int64_t& v) const {
    const Json& j = at(key);
    if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<uint64_t>() > std::numeric_limits<int64_t>::max()))
      wrong(key, "a whole number");
    v = j.get<int64_t>();
  }
  void operator()(const char* key, double& v) const {
    const Json& j = at(key);
    if (!j.is_number() || !std::isfinite(j.get<double>())) wrong(key, "a number");
    v = j.get<double>();
  }
  void operator()(const char* key, bool& v) const {
    const Json& j = at(key);
    if (!j.is_boolean()) wrong(key, "true or false");
    v = j.get<bool>();
  }
  void operator()(const char* key, nn::ActivationKind& v) const {
    const std::string name = text(key);
    for (nn::ActivationKind kind : kActivations)
      if (nn::to_string(kind) == name) {
        v = kind;
        return;
      }
    wrong(key, "one of relu, gelu, gelu_tanh, silu, tanh, sigmoid");
  }
  void operator()(const char* key, nn::NormPlace& v) const {
    const std::string name = text(key);
    if (name != "pre" && name != "post") wrong(key, "\"pre\" or \"post\"");
    v = name == "pre" ? nn::NormPlace::pre : nn::NormPlace::post;
  }

 private:
  const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) raise(ErrorKind::config, "{}: \"{}\" is missing", where_, key);
    return *found;
  }
  std::string text(const char* key) const {
    const Json& j = at(key);
    if (!j.is_string()) wrong(key, "a string");
    return j.get<std::string>();
  }
  [[noreturn]] void wrong(const char* key, const char* needed) const {
    raise(ErrorKind::config, "{}: \"{}\" must be {}, got {}", where_, key, needed, at(key).dump());
  }

  const Json& json_;
  const std::string& where_;
};

Json parse(const std::string& text, const std::string& where) {
  std::set<std::string> keys;
  const auto refuse_doubled = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > 8) raise(ErrorKind::format, "{}: nested deeper than 8", where);
    if (depth == 1 && event == Json::parse_event_t::key && !keys.insert(value.get<std::string>()).second)
      raise(ErrorKind::format, "{}: \"{}\" stands twice", where, value.get<std::string>());
    return true;
  };
  try {
    Json json = Json::parse(text, refuse_doubled);
    if (!json.is_object()) raise(ErrorKind::format, "{}: not a JSON object", where);
    return json;
  } catch (const Json::exception& error) {
    raise(ErrorKind::format, "{}: {}", where, error.what());
  }
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || std::filesystem::is_directory(path))
    raise(ErrorKind::io, "{}: {}", path, std::strerror(errno ? errno : EISDIR));
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) raise(ErrorKind::io, "{}: {}", path, std::strerror(errno));
}

/// Runs `body`; an Error that leaves it names the file whose content is at fault.
template <class F>
auto naming(const std::string& path, F&& body) {
  try {
    return body();
  } catch (const Error& error) {
    raise(error.kind(), "{}: {}", path, error.what());
  }
}

}  // namespace

std::string to_json(const TransformerConfig& config) {
  Json json{{"model_type", kModelType}};
  visit_keys(config, [&json](const char* key, const auto& value) { json[key] = value_of(value); });
  return json.dump(2) + "\n";
}

TransformerConfig transformer_config_from_json(const std::string& text, const std::string& where) {
  const Json json = parse(text, where);
  const auto type = json.find("model_type");
  if (type == json.end() || *type != kModelType)
    raise(ErrorKind::config, "{}: \"model_type\" must be \"{}\", got {}", where, kModelType,
          type == json.end() ? "nothing" : type->dump());
  TransformerConfig config;
  std::set<std::string> known{"model_type"};
  const Reader read(json, where);
  visit_keys(config, [&](const char* key, auto& value) {
    known.insert(key);
    read(key, value);
  });
  for (const auto& [key, value] : json.items())
    if (!known.contains(key)) raise(ErrorKind::config, "{}: \"{}\" is not a known key", where, key);
  return config;
}

void save_transformer(const std::string& folder, const Transformer& model) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) raise(ErrorKind::io, "{}: {}", folder, failed.message());
  write_text(folder + "/config.json", to_json(model.config()));
  model.save(folder + "/model.safetensors");
}

std::unique_ptr<Transformer> load_transformer(const std::string& folder) {
  const std::string config = folder + "/config.json", values = folder + "/model.safetensors";
  const TransformerConfig read = transformer_config_from_json(read_text(config), config);
  auto model = naming(config, [&] { return std::make_unique<Transformer>(read); });
  const SafetensorsFile file = load_safetensors(values);
  naming(values, [&] { model->load_state_dict(file.tensors); });
  return model;
}

}  // namespace tape::models
