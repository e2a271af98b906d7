#include "models/folders/folder.h"

#include <algorithm>
#include <iterator>

#include <fmt/ranges.h>

#include "base/file.h"
#include "base/path.h"
#include "models/adapters/adapter_folder.h"
#include "models/encoder_decoders/transformer_json.h"
#include "models/encoders/architectures.h"
#include "models/folders/config_reader.h"
#include "models/folders/family.h"
#include "models/folders/weights.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

/// Joins one text per class of the families.
std::string listed(const std::vector<const hf::ModelFamily*>& families, const char* hf::TransformersClass::*text) {
  std::vector<std::string> all;
  for (const hf::ModelFamily* family : families)
    for (const hf::TransformersClass& one : family->classes()) all.emplace_back(one.*text);
  return fmt::format("{}", fmt::join(all, ", "));
}

/// The family of a model. Throws Error, starting with `what`, if it has none.
const hf::ModelFamily& family_of(const nn::Module& model, const std::string& what) {
  for (const hf::ModelFamily* family : hf::model_families())
    if (family->has(model)) return *family;
  const std::string kind = dynamic_cast<const CausalLM*>(&model)         ? "a custom CausalLM"
                           : dynamic_cast<const EncoderDecoder*>(&model) ? "a custom EncoderDecoder"
                                                                         : fmt::format("a {}", model.type_name());
  raise(ErrorKind::config, "{}: transformers has no class for {}", what, kind);
}

}  // namespace

AnyModel load_model(const std::string& folder) {
  if (is_adapter_folder(folder)) return load_with_adapter(folder);
  const std::string file = file_in_folder(folder, hf::kConfig);
  const ConfigReader config(read_text(file), file);
  const std::vector<const hf::ModelFamily*> families = hf::model_families();
  for (const hf::ModelFamily* family : families)
    if (auto model = family->load(folder, config)) return std::move(*model);
  const std::vector<std::string> names = config.names("architectures");
  raise(ErrorKind::config, "{}: {} is not supported; supported are {}; {} and \"model_type\" \"{}\"", file,
        names.empty() ? fmt::format("\"model_type\" \"{}\" without \"architectures\"", config.text("model_type", ""))
                      : fmt::format("architecture \"{}\"", names.front()),
        hf::encoder_architectures(), listed(families, &hf::TransformersClass::architecture), kOwnModelType);
}

void refuse_class(const std::string& folder, const nn::Module& held, const std::type_info& needed) {
  const auto display_name = [&]() -> std::string {
    if (needed == typeid(CausalLM))
      return fmt::format("a decoder-only model ({})", listed(hf::decoder_families(), &hf::TransformersClass::title));
    if (needed == typeid(EncoderDecoder))
      return fmt::format("an encoder-decoder model ({})",
                         listed(hf::encoder_decoder_families(), &hf::TransformersClass::title));
    for (const hf::ModelFamily* family : hf::model_families())
      if (const std::string found = family->display_name(needed); !found.empty()) return found;
    return "another";
  };
  raise(ErrorKind::config, "{}/config.json: contains a {}, but {} is required", folder, held.type_name(),
        display_name());
}

void save(const std::string& folder, const nn::Module& model, const SaveOptions& options) {
  const hf::ModelFamily& family = family_of(model, folder);
  check_merged(model, folder);
  const hf::FolderTextFiles texts = family.texts(model, options);
  make_folder(folder);
  write_weights(folder, family.layout(model).to_file(model.state_dict()), options.max_shard_bytes);
  for (const auto& [name, content] : texts) write_in_folder(folder, name, content);
}

void save(const std::string& folder, const AnyModel& model, const SaveOptions& options) {
  save(folder, module_of(model), options);
}

Layout layout_of(const nn::Module& model) { return family_of(model, "layout_of").layout(model); }

Layout layout_of(const AnyModel& model) { return layout_of(module_of(model)); }

std::map<std::string, Tensor> to_file_names(const AnyModel& model, const nn::StateDict& values) {
  return layout_of(model).to_file(values);
}

}  // namespace tape::models

namespace tape::models::hugging_face {

std::optional<size_t> ModelFamily::class_of(const ConfigReader& config) const {
  const std::vector<std::string> names = config.names("architectures");
  const std::string type = config.text("model_type", "");
  const std::vector<TransformersClass> all = classes();
  const auto found = std::ranges::find_if(all, [&](const TransformersClass& one) {
    return names.empty() ? type == one.model_type : names.front() == one.architecture;
  });
  return found == all.end() ? std::nullopt : std::optional(static_cast<size_t>(found - all.begin()));
}

std::vector<const ModelFamily*> model_families() {
  std::vector<const ModelFamily*> all;
  for (const auto& some : {decoder_families(), encoder_decoder_families(), vision_families()})
    all.insert(all.end(), some.begin(), some.end());
  all.push_back(&encoder_models());
  return all;
}

}  // namespace tape::models::hugging_face
