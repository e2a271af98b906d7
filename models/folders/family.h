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
struct TransformersClass {
  const char* architecture;  ///< "LlamaForCausalLM", in "architectures" of config.json
  const char* model_type;    ///< "llama", in "model_type"
  const char* title;         ///< "Llama", in messages
};

/// A folder's text files by name, in the order in which they are written.
using FolderTextFiles = std::vector<std::pair<std::string, std::string>>;

/// A family of models, and how its folders are read and written. families.h has the table of all.
class ModelFamily {
 public:
  virtual ~ModelFamily() = default;

  /// The classes of transformers whose folders it reads.
  virtual std::vector<TransformersClass> classes() const = 0;
  /// Loads the model of a folder with this config.json; nullopt if it is of another class. Throws the errors of
  /// load_model().
  virtual std::optional<AnyModel> load(const std::string& folder, const ConfigReader& config) const = 0;
  /// Whether a model belongs to the family, which the functions below require.
  virtual bool has(const nn::Module& model) const = 0;
  /// Layout of the tensors in the model's folder. Throws Error (config) if transformers has no class for the model.
  virtual Layout layout(const nn::Module& model) const = 0;
  /// Other files of the model's folder; config.json is the last. Throws the errors of layout().
  virtual FolderTextFiles texts(const nn::Module& model, const SaveOptions& options) const = 0;
  /// For messages, a folder's contents if its model is of this class of ours: "a Llama (Llama, Mistral, ...)"; empty
  /// for a class of another family.
  virtual std::string display_name(const std::type_info& type) const = 0;

 protected:
  /// Index of the class that a config.json names: by the first of its "architectures", or else by its "model_type".
  std::optional<size_t> class_of(const ConfigReader& config) const;
};

/// All families of encoders as one.
const ModelFamily& encoder_models();
std::vector<const ModelFamily*> model_families();

}  // namespace tape::models::hugging_face
