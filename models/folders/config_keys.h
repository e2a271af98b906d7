#pragma once

#include <string>
#include <utility>

#include "../heads/classification_loss.h"
#include "config_reader.h"

namespace tape::models::hugging_face {

/// An activation by transformers' name; nullopt for an unknown name.
std::optional<nn::ActivationKind> find_activation(std::string_view name);
/// transformers' name of an activation.
nn::ActivationKind read_activation(const ConfigReader& config, const char* key, nn::ActivationKind otherwise);
std::string activation_name(nn::ActivationKind kind);

/// Throws Error (config) naming a field of other classes or formats that changes the computation.
void check_supported(const ConfigReader& config);
/// The same for a model with a decoder, whose attention must be causal.
void check_supported_decoder(const ConfigReader& config);

/// The first keys of every config.json.
nlohmann::ordered_json begin_config(std::string_view architecture, std::string_view model_type, DType dtype);

inline constexpr const char* kConfig = "config.json";
/// A text file with this name and content.
std::pair<std::string, std::string> json_text(const char* name, const nlohmann::ordered_json& json);

// A configuration's keys are listed once, in a function that visits each key and its field, for reading and writing.

/// Reads the keys that are present over the fields' values.
struct ReadKeys {
  const ConfigReader& config;

  void operator()(const char* key, int64_t& value) const { value = config.whole(key, value); }
  void operator()(const char* key, double& value) const { value = config.number(key, value); }
  void operator()(const char* key, bool& value) const { value = config.flag(key, value); }
  void operator()(const char* key, nn::ActivationKind& value) const { value = read_activation(config, key, value); }
  /// Null is nullopt.
  template <class T>
  void operator()(const char* key, std::optional<T>& value) const {
    if (config.has(key))
      (*this)(key, value ? *value : value.emplace());
    else if (config.contains(key))
      value.reset();
  }
  /// One value or a list; null is an empty list.
  void operator()(const char* key, std::vector<int64_t>& value) const {
    if (config.has(key))
      value = config.integers(key);
    else if (config.contains(key))
      value.clear();
  }
};

/// Writes the fields; an unset optional or an empty list is null.
struct WriteKeys {
  nlohmann::ordered_json& json;

  template <class T>
  void operator()(const char* key, const T& value) const {
    json[key] = value;
  }
  void operator()(const char* key, nn::ActivationKind value) const { json[key] = activation_name(value); }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) const {
    json[key] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  }
  void operator()(const char* key, const std::vector<int64_t>& value) const {
    json[key] = value.size() == 1 ? nlohmann::ordered_json(value.front())
                : value.empty()   ? nlohmann::ordered_json()
                                  : nlohmann::ordered_json(value);
  }
};

/// Reads a classifier's labels from "id2label"; without it and "num_labels", there are two unnamed ones.
template <class Config>
void read_labels(Config& c, const ConfigReader& config) {
  c.labels = config.names("id2label");
  c.num_labels = config.whole("num_labels", c.labels.empty() ? 2 : std::ssize(c.labels));
}
void write_labels(nlohmann::ordered_json& json, const std::vector<std::string>& labels);

/// A classifier's "problem_type", if present.
std::optional<ProblemType> read_problem_type(const ConfigReader& config);
/// Writes nothing if unset: transformers then also infers it from the labels.
void write_problem_type(nlohmann::ordered_json& json, const std::optional<ProblemType>& type);

}  // namespace tape::models::hugging_face
