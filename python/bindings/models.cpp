#include "bindings.h"
#include "models/folders/tokenizer_fit.h"
#include "models/gguf/names.h"
#include "models/gguf/tokenizer.h"
#include "models/heads/length_batches.h"

namespace tape::python {
namespace {

using nb::arg;

/// A loaded model as an object of its own class.
nb::object object_of(models::AnyModel model) {
  return std::visit([](auto& held) { return nb::cast(std::move(held)); }, model);
}

/// Loads without the GIL, since a folder may have gigabytes.
template <class Load>
models::AnyModel loaded(Load&& load) {
  const nb::gil_scoped_release unlocked;
  return load();
}

/// Names of a classifier's labels.
std::vector<std::string> label_names(const nn::Module& model) {
  if (const auto* const texts = dynamic_cast<const models::SequenceClassifier*>(&model))
    return texts->config().label_names();
  if (const auto* const words = dynamic_cast<const models::TokenClassifier*>(&model))
    return words->config().label_names();
  if (const auto* const images = dynamic_cast<const models::ImageClassifier*>(&model))
    return images->config().label_names();
  raise(ErrorKind::config, "label_names: a {} has no labels", model.type_name());
}

/// Keys of generation_config.json that generate() and translate() do not follow; empty if there are none.
std::string search_note(const nn::Module& model, const std::string& folder) {
  if (const auto* const decoder = dynamic_cast<const models::CausalLM*>(&model))
    return models::note_of(decoder->search, folder);
  if (const auto* const both = dynamic_cast<const models::EncoderDecoder*>(&model))
    return models::note_of(both->search, folder);
  return {};
}

void bind_folders(nb::module_& m) {
  m.def(
      "load_model",
      [](const std::string& folder) { return object_of(loaded([&] { return models::load_model(folder); })); },
      arg("folder"),
      "Loads the model of a transformers folder in evaluation mode, as an object of its class: Gpt, Llama, Bert, T5, "
      "...;\n"
      "a folder with adapters is loaded with its base model. tapeformer.load() also loads the tokenizer.\n\n"
      "Error (io), (format) or (config) names the file and what does not fit.");
  m.def(
      "load_with_adapter",
      [](const std::string& folder, const std::string& base) {
        return object_of(loaded([&] { return models::load_with_adapter(folder, base); }));
      },
      arg("folder"), arg("base") = "",
      "Loads the base model of a folder of adapters (peft), with the adapters active.");
  m.def(
      "load_gguf_model",
      [](const std::string& path) { return object_of(loaded([&] { return models::load_gguf_model(path); })); },
      arg("path"), "Loads the model of a llama.cpp file, in evaluation mode.");
  constexpr nn::LoraOptions lora;
  m.def(
      "add_adapter",
      [](nn::Module& model, const std::string& name, int64_t rank, double alpha, double dropout, bool rank_stabilized,
         bool decomposed, const std::vector<std::string>& targets, const std::vector<std::string>& exclude) {
        return models::add_adapter(model, models::layout_of(model), name,
                                   {.rank = rank,
                                    .alpha = alpha,
                                    .dropout = dropout,
                                    .rank_stabilized = rank_stabilized,
                                    .decomposed = decomposed},
                                   targets, exclude);
      },
      arg("model"), arg("name"), nb::kw_only(), arg("rank") = lora.rank, arg("alpha") = lora.alpha,
      arg("dropout") = lora.dropout, arg("rank_stabilized") = lora.rank_stabilized, arg("decomposed") = lora.decomposed,
      arg("targets"), arg("exclude") = std::vector<std::string>(), release,
      "nn.add_adapter(), restricted to adapters that save_adapter() can write: a target also selects the layers that\n"
      "a folder packs into the same matrix (GPT-2's c_attn is query, key and value), and they share one A. Layers in\n"
      "the modules `exclude` get none.");
  m.def(
      "load_adapter",
      [](const std::string& folder, nn::Module& model, const std::string& name) {
        models::load_adapter(folder, model, models::layout_of(model), name);
      },
      arg("folder"), arg("model"), arg("name") = "default", release,
      "Adds the adapters of a folder (peft) to their model under a name and makes them active.");
  m.def(
      "save_adapter",
      [](const std::string& folder, nn::Module& model, const std::string& name, const std::string& base_model) {
        models::save_adapter(folder, model, models::layout_of(model), name, {.base_model = base_model});
      },
      arg("folder"), arg("model"), arg("name") = "default", nb::kw_only(), arg("base_model") = "", release,
      "Writes the adapters called `name` in peft's format.");
  m.def("is_adapter_folder", &models::is_adapter_folder, arg("folder"),
        "Whether a folder contains adapters but no model.");
  m.def(
      "save",
      [](const std::string& folder, const nn::Module& model, int64_t max_shard_bytes) {
        models::save(folder, model, {.max_shard_bytes = max_shard_bytes});
      },
      arg("folder"), arg("model"), nb::kw_only(), arg("max_shard_bytes") = models::SaveOptions{}.max_shard_bytes,
      release,
      "Writes a folder that load_model() and transformers read. Error (config) if transformers has no class for the "
      "model.");
  m.def(
      "save_sentence_encoder",
      [](const std::string& folder, const models::SentenceEncoder& model) { models::save(folder, model); },
      arg("folder"), arg("model"), release, "Writes a folder that sentence-transformers reads.");
  m.def("import_gguf", &models::import_gguf, arg("path"), arg("folder"), release,
        "Writes the model and the tokenizer of a llama.cpp file as a transformers folder.");
  m.def(
      "_write_gguf_tokenizer",
      [](const std::string& path, const std::string& folder) {
        const GgufFile file = load_gguf(path);
        models::write_tokenizer(models::GgufEntries(file.metadata, path), folder);
      },
      arg("path"), arg("folder"), release);
  m.def("base_model_folder", &models::base_model_folder, arg("folder"),
        "Folder of the base model of a folder of adapters. Error (config) if there is none.");
  m.def("_label_names", &label_names, arg("model"));
  m.def("_search_note", &search_note, arg("model"), arg("folder"));
  m.def(
      "_has_pooling", [](const std::string& folder) { return models::read_pooling(folder).has_value(); },
      arg("folder"));
  m.def(
      "_batches_by_length",
      [](const std::vector<int64_t>& lengths, int64_t batch_tokens) {
        return models::batches_by_length(lengths, batch_tokens);
      },
      arg("lengths"), arg("batch_tokens"));
  m.def(
      "_padded_rows",
      [](const std::vector<std::vector<int64_t>>& rows, const std::vector<int64_t>& which, int64_t padding_id) {
        return models::padded_rows(rows, which, padding_id);
      },
      arg("rows"), arg("which"), arg("padding_id"));
  m.def("_check_tokenizer_fits", &models::check_tokenizer_fits, arg("folder"), arg("tokenizer"), arg("key"),
        arg("vocab"));
}

}  // namespace

void bind_folders_of_models(nb::module_& m) {
  bind_folders(m);
  m.def("prompt_ids", &models::prompt_ids, arg("tokenizer"), arg("text"),
        "Ids of a text to be continued: without the end token that some tokenizers add.");
}

}  // namespace tape::python
