#pragma once

#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "folder.h"

namespace tape::models {
class ConfigReader;
}

namespace tape::models::hugging_face {

/// A class of transformers.
struct FolderClass {
  const char* architecture;  ///< "LlamaForCausalLM", as "architectures" in config.json names it
  const char* model_type;    ///< "llama", as "model_type" does
  const char* title;         ///< "Llama", as messages do
};

/// A folder's files of text, by name, in the order in which they are written.
using FolderTexts = std::vector<std::pair<std::string, std::string>>;

/// A family of models, and how its folders are read and written. The table of all is families.h.
class ModelFamily {
 public:
  virtual ~ModelFamily() = default;

  /// The classes of transformers whose folders are read.
  virtual std::vector<FolderClass> classes() const = 0;
  /// The model of a folder, whose config.json this is; nothing where that is of none of the classes. Errors as
  /// load_model().
  virtual std::optional<AnyModel> load(const std::string& folder, const ConfigReader& config) const = 0;
  /// Whether a model is of the family, as it must be below.
  virtual bool has(const nn::Module& model) const = 0;
  /// How the model's folder names and keeps its tensors. Error (config) for a model that transformers has no class for.
  virtual Layout layout(const nn::Module& model) const = 0;
  /// What else the model's folder holds; config.json is the last. Errors as layout().
  virtual FolderTexts texts(const nn::Module& model, const SaveOptions& options) const = 0;
  /// "a Llama (Llama, Mistral, ...)", what a folder with a model of this class of ours holds; empty for a class of
  /// another family.
  virtual std::string holding(const std::type_info& type) const = 0;

 protected:
  /// The place among the classes of the one that a config.json names: by the first of its "architectures" or, without
  /// any, by its "model_type".
  std::optional<size_t> class_of(const ConfigReader& config) const;
};

/// Those of the table, all as one family.
const ModelFamily& encoder_models();
std::vector<const ModelFamily*> model_families();

}  // namespace tape::models::hugging_face
