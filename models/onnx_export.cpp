#include "models/onnx_export.h"

#include <concepts>

#include "models/onnx/models.h"
#include "nn/adapters.h"

namespace tape::models {
namespace {

template <class M>
concept HasGraph = requires(onnx::Graph& graph, const M& model) { onnx::describe(graph, model); };

template <class M>
void export_graph(const M& model, const std::string& path, const OnnxExportOptions& options) {
  onnx::Graph graph(options.stored);
  if constexpr (!HasGraph<M>) {
    graph.refuse(fmt::format("a {} has no export", model.type_name()));
  } else if (!options.with_past) {
    onnx::describe(graph, model);
  } else if constexpr (std::derived_from<M, CausalLM>) {
    onnx::describe_with_past(graph, model);
  } else {
    graph.refuse(fmt::format("keys and values of earlier tokens (with_past) are of decoder-only models, this is a {}",
                             model.type_name()));
  }
  save_onnx(path, graph.take(model.type_name()), {.max_inline_bytes = options.max_inline_bytes});
}

}  // namespace

void export_onnx(const CausalLM& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const EncoderModel& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const MaskedLanguageModel& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const SequenceClassifier& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const TokenClassifier& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const QuestionAnswerer& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const EncoderDecoder& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const Vit& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const ImageClassifier& model, const std::string& path, const OnnxExportOptions& options) {
  export_graph(model, path, options);
}
void export_onnx(const AnyModel& model, const std::string& path, const OnnxExportOptions& options) {
  std::visit([&](const auto& m) { export_graph(*m, path, options); }, model);
}
void export_onnx(const std::string& folder, const std::string& path, const OnnxExportOptions& options) {
  const AnyModel model = load_model(folder);
  nn::merge_adapters(module_of(model));
  export_onnx(model, path, options);
}

}  // namespace tape::models
