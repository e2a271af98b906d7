#include "models/onnx/export.h"

#include <concepts>

#include <fmt/format.h>

#include "base/file.h"
#include "models/onnx/models.h"
#include "nn/adapters.h"

namespace tape::models {
namespace {

template <class M>
void export_graph(const M& model, const std::string& path, const OnnxExportOptions& options) {
  const auto save = [&](const std::string& file, auto&& build_graph) {
    onnx::Graph graph(options.stored);
    build_graph(graph, model);
    save_onnx(file, graph.take(model.type_name()), {.max_inline_bytes = options.max_inline_bytes});
  };
  const auto refuse = [&](const std::string& what) { onnx::Graph(options.stored).refuse(what); };
  if (!options.with_past) {
    save(path, [](onnx::Graph& graph, const M& m) { onnx::build_graph(graph, m); });
  } else if constexpr (std::derived_from<M, CausalLM>) {
    save(path, [](onnx::Graph& graph, const M& m) { onnx::build_graph_with_past(graph, m); });
  } else if constexpr (std::derived_from<M, EncoderDecoder>) {
    if (path.ends_with(".onnx"))
      refuse(fmt::format("with_past writes three files for a {} and requires a folder as path, got {}",
                         model.type_name(), path));
    make_folder(path);
    save(path + "/encoder_model.onnx", onnx::build_encoder_graph);
    save(path + "/decoder_model.onnx", onnx::build_decoder_graph);
    save(path + "/decoder_with_past_model.onnx", onnx::build_decoder_graph_with_past);
  } else {
    refuse(fmt::format("with_past requires a model that generates text, but this is a {}", model.type_name()));
  }
}

}  // namespace

void export_onnx(const nn::Module& model, const std::string& path, const OnnxExportOptions& options) {
  if (!with_kind(model, [&](const auto& m) { export_graph(m, path, options); }))
    onnx::Graph(options.stored).refuse(fmt::format("a {} cannot be exported", model.type_name()));
}
void export_onnx(const AnyModel& model, const std::string& path, const OnnxExportOptions& options) {
  export_onnx(module_of(model), path, options);
}
void export_onnx(const std::string& folder, const std::string& path, const OnnxExportOptions& options) {
  const AnyModel model = load_model(folder);
  nn::merge_adapters(module_of(model));
  export_onnx(model, path, options);
}

}  // namespace tape::models
