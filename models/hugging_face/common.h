#pragma once

#include "../config_reader.h"

namespace tape::models::hugging_face {

/// An activation by the name that transformers gives it.
nn::ActivationKind read_activation(const ConfigReader& config, const char* key, nn::ActivationKind otherwise);
std::string activation_name(nn::ActivationKind kind);

/// The keys that every config.json begins with.
nlohmann::ordered_json begin_config(const char* architecture, const char* model_type, DType dtype);

// A configuration's keys are listed once, in a function that visits each key with its field, for both directions.

/// Takes the values that are there over the fields' own.
struct ReadKeys {
  const ConfigReader& config;

  void operator()(const char* key, int64_t& value) const { value = config.whole(key, value); }
  void operator()(const char* key, double& value) const { value = config.number(key, value); }
  void operator()(const char* key, bool& value) const { value = config.flag(key, value); }
  void operator()(const char* key, nn::ActivationKind& value) const { value = read_activation(config, key, value); }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) const {
    if (config.has(key)) (*this)(key, value ? *value : value.emplace());
  }
};

/// Adds the fields; an optional one without a value is null.
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
};

}  // namespace tape::models::hugging_face
