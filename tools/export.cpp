#include "tools/export.h"

#include <map>
#include <memory>

#include "models/gguf_export.h"
#include "models/onnx_export.h"

namespace tape::tools {
namespace {

struct ExportArguments {
  std::string model, out, format = "gguf", dtype = "f32", name;
  bool with_past = false;
  int64_t max_inline_bytes = models::OnnxExportOptions().max_inline_bytes;
  Common common;
};

[[noreturn]] void of_another_format(const std::string& option, const char* format) {
  raise(ErrorKind::config, "export: {} is of --format {}", option, format);
}

void export_gguf(const ExportArguments& a) {
  static const std::map<std::string, GgufType> types{{"f32", GgufType::F32},
                                                     {"f16", GgufType::F16},
                                                     {"bf16", GgufType::BF16},
                                                     {"q8_0", GgufType::Q8_0},
                                                     {"q4_0", GgufType::Q4_0}};
  if (a.with_past) of_another_format("--with-past", "onnx");
  models::export_gguf(a.model, a.out, {.type = types.at(a.dtype), .name = a.name});
}

void export_onnx(const ExportArguments& a) {
  static const std::map<std::string, DType> dtypes{{"f32", f32}, {"f16", f16}, {"bf16", bf16}};
  const auto stored = dtypes.find(a.dtype);
  if (stored == dtypes.end()) of_another_format("--dtype " + a.dtype, "gguf");
  if (!a.name.empty()) of_another_format("--name", "gguf");
  models::export_onnx(a.model, a.out,
                      {.stored = stored->second, .with_past = a.with_past, .max_inline_bytes = a.max_inline_bytes});
}

int export_model(const ExportArguments& arguments) {
  prepare(arguments.common);
  (arguments.format == "onnx" ? export_onnx : export_gguf)(arguments);
  return 0;
}

}  // namespace

void add_export(Command app) {
  const auto arguments = std::make_shared<ExportArguments>();
  Command command = app.subcommand("export", "A model in one file, for other runtimes");
  command.footer(
      "gguf is the format of llama.cpp and its kin, with the tokenizer: GPT-2, Llama, Mistral, Qwen2 and Qwen3.\n"
      "onnx is that of onnxruntime, transformers.js and their kin: every model, any batch and length; a file that "
      "would\n"
      "pass 2 GB has its tensors in OUT_data beside it. Adapters are merged into the weights.\n"
      "Examples: tapeformer export --model runs/book --out book.gguf --dtype q8_0\n"
      "          tapeformer export --model runs/book --format onnx --with-past --out book/model.onnx");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and the tokenizer")
      .required();
  command.option("--out", arguments->out, "File to write, or folder (see --with-past)").required();
  command.option("--format", arguments->format, "Of the file").one_of({"gguf", "onnx"});
  command.option("--dtype", arguments->dtype, "Of matrices and tables, q8_0 and q4_0 of gguf; vectors stay f32")
      .one_of({"f32", "f16", "bf16", "q8_0", "q4_0"});
  command.option("--name", arguments->name, "What the model is called in a file of gguf").default_text("the folder's");
  command.flag("--with-past", arguments->with_past,
               "Of onnx: keys and values of earlier tokens are inputs and outputs, of models that write text; of an "
               "encoder-decoder OUT is then a folder of three files");
  command.option("--max-inline-bytes", arguments->max_inline_bytes, "Of onnx: with more, tensors are in a second file")
      .at_least(0);
  command.runs([arguments] { return export_model(*arguments); });
}

}  // namespace tape::tools
