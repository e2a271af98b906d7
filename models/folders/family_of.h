#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "config_reader.h"
#include "family.h"
#include "folder_loading.h"
#include "generation_config.h"

namespace tape::models::hugging_face {

/// The family of models of one class M, a CausalLM or an EncoderDecoder with a config(). Options holds the differences
/// between the folders of such families.
template <class M>
class FamilyOf : public ModelFamily {
 public:
  using Config = std::remove_cvref_t<decltype(std::declval<const M&>().config())>;

  struct Class {
    TransformersClass name;
    /// Reads config.json over the defaults of the class. Throws Error (config) for an unsupported computation.
    Config (*read)(const ConfigReader& config);
    /// For an EncoderDecoder: the default of forced_eos if neither file sets it.
    bool forced_eos = false;
  };
  struct Format {
    const char* display_name;    ///< "a Llama (Llama, Mistral, ...)"
    std::vector<Class> classes;  ///< whose configurations are all read as Config
    const char* prefix;          ///< of the base model's tensors; names in a file may lack it
    nlohmann::ordered_json (*write)(const Config& config, DType dtype);
    Layout (*layout)(const Config& config);
    /// Checks and completes the configuration before the weights are read.
    Config (*completed)(Config config) = [](Config c) { return c; };
    /// Adapts the configuration and the weights of a file to each other.
    void (*fit)(Config& config, Weights& weights) = [](Config&, Weights&) {};
  };
  explicit FamilyOf(Format format) : format_(std::move(format)) {}

  std::vector<TransformersClass> classes() const override {
    std::vector<TransformersClass> names;
    for (const Class& one : format_.classes) names.push_back(one.name);
    return names;
  }
  std::optional<AnyModel> load(const std::string& folder, const ConfigReader& config) const override {
    const std::optional<size_t> place = class_of(config);
    if (!place) return std::nullopt;
    const Class& found = format_.classes[*place];
    const std::optional<ConfigReader> generation = open_generation_config(folder);
    // Read the configuration first, so that errors in it are reported without reading a large file.
    Config given = found.read(config);
    if constexpr (std::derived_from<M, CausalLM>)
      given = with_end_tokens(std::move(given), generation);
    else
      given = with_target_ids(std::move(given), generation, config.has("decoder_start_token_id"));
    const Config c = naming(config.where(), [&] { return format_.completed(given); });
    std::unique_ptr<M> model = made(config.where(), c, read_weights(folder));
    read_search(*model, generation, config, found.forced_eos);
    return model;
  }
  bool has(const nn::Module& model) const override { return dynamic_cast<const M*>(&model) != nullptr; }
  Layout layout(const nn::Module& model) const override { return layout(config_of(model)); }
  FolderTextFiles texts(const nn::Module& model, const SaveOptions& options) const override {
    return texts_of(json(config_of(model), model.parameters().front().dtype()), dynamic_cast<const M&>(model), options);
  }
  std::string display_name(const std::type_info& type) const override {
    return type == typeid(M) ? format_.display_name : "";
  }

  /// Reads the configuration as the class of this name.
  Config read(std::string_view architecture, const ConfigReader& config) const {
    const auto found = std::ranges::find(format_.classes, architecture,
                                         [](const Class& one) { return std::string_view(one.name.architecture); });
    TAPE_ASSERT(found != format_.classes.end());
    return found->read(config);
  }
  nlohmann::ordered_json json(const Config& config, DType dtype) const { return format_.write(config, dtype); }
  Layout layout(const Config& config) const { return format_.layout(config); }

 protected:
  static const Config& config_of(const nn::Module& model) { return dynamic_cast<const M&>(model).config(); }
  std::unique_ptr<M> made(const std::string& file, Config c, Weights weights) const {
    check_layers(file, c.layers, weights);
    if constexpr (requires { c.decoder_layers; })
      check_layers(file, std::optional<int64_t>(c.decoder_layers).value_or(c.layers), weights);
    naming(file, [&] { format_.fit(c, weights); });
    return filled<M>(
        file, c, weights, [&] { return format_.layout(c); }, format_.prefix);
  }

 private:
  Format format_;
};

/// Casts a family of the table to its class.
template <class M>
const FamilyOf<M>& family_of_class(const ModelFamily& family) {
  return dynamic_cast<const FamilyOf<M>&>(family);
}

}  // namespace tape::models::hugging_face
