#include "tools/commands.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/path.h"
#include "models/gguf/export.h"
#include "models/onnx/export.h"
#include "train/runs/output_folder.h"

namespace tape::tools {
namespace {

struct ExportArguments {
  std::string model, out, dtype = "f32", name;
  std::optional<std::string> format;
  bool with_past = false, overwrite = false;
  int64_t max_inline_bytes = models::OnnxExportOptions().max_inline_bytes;
  Common common;
};

[[noreturn]] void of_another_format(const std::string& option, const char* format) {
  raise(ErrorKind::config, "export: {} needs --format {}", option, format);
}

/// "gguf" or "onnx": --format, else the extension of --out, else gguf.
std::string format_of(const ExportArguments& a) {
  for (const auto& [extension, other] : {std::pair(".gguf", "onnx"), {".onnx", "gguf"}})
    if (a.out.ends_with(extension) && a.format == other)
      raise(ErrorKind::config, "export: --format {} contradicts the extension of {}", other, a.out);
  return a.format.value_or(a.out.ends_with(".onnx") ? "onnx" : "gguf");
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

/// Checks that the export does not write over its input. An output folder is locked and its files are replaced one by
/// one; other files in it are left alone.
std::unique_ptr<train::FolderLock> claim_out(const ExportArguments& a) {
  const std::vector<std::string> inputs = train::model_inputs(a.model);
  train::check_is_not_an_input(a.out, inputs);
  train::check_is_not_of_a_model(a.out, a.model);
  if (!is_folder(a.out)) return nullptr;
  train::check_not_among_inputs(a.out, inputs);
  if (const auto entry = train::first_entry(a.out); entry && !a.overwrite)
    raise(ErrorKind::io, "{} contains {}: use --overwrite or choose another folder", a.out, *entry);
  train::check_links_stay_inside(a.out);
  return path_exists(join_path(a.out, ".lock")) ? std::make_unique<train::FolderLock>(a.out) : nullptr;
}

int export_model(const ExportArguments& arguments) {
  prepare(arguments.common);
  const std::string format = format_of(arguments);
  const auto lock = claim_out(arguments);
  (format == "onnx" ? export_onnx : export_gguf)(arguments);
  return 0;
}

}  // namespace

void add_export(Command app) {
  const auto arguments = std::make_shared<ExportArguments>();
  Command command = app.subcommand("export", "Write a model as one file for other runtimes");
  command.footer(
      "gguf is for llama.cpp and compatible tools and includes the tokenizer: GPT-2, Llama, Mistral, Qwen2 and Qwen3.\n"
      "onnx is for onnxruntime, transformers.js and compatible tools: every model, any batch and length. A file that "
      "would\n"
      "exceed 2 GB has its tensors in a second file, OUT_data. Adapters are merged into the weights.\n"
      "Examples: tapeformer export --model runs/book --out book.gguf --dtype q8_0\n"
      "          tapeformer export --model runs/book --with-past --out book.onnx");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and the tokenizer")
      .required();
  command.option("--out", arguments->out, "File to write, or folder (see --with-past)").required();
  command.option("--format", arguments->format, "Format of the file")
      .one_of({"gguf", "onnx"})
      .default_text("by the extension of --out: .onnx, else gguf");
  command
      .option("--dtype", arguments->dtype,
              "Dtype of matrices and embeddings; vectors stay f32; q8_0 and q4_0: gguf only")
      .one_of({"f32", "f16", "bf16", "q8_0", "q4_0"});
  command.option("--name", arguments->name, "gguf: name of the model in the file").default_text("the folder's");
  command.flag("--with-past", arguments->with_past,
               "onnx: make the key/value cache an input and output, for models that generate text. For an "
               "encoder-decoder, OUT is then a folder of three files");
  command
      .option("--max-inline-bytes", arguments->max_inline_bytes,
              "onnx: above this size, tensors are stored in a second file")
      .at_least(0);
  command.flag("--overwrite", arguments->overwrite, "Replace existing files in a folder OUT");
  command.runs([arguments] { return export_model(*arguments); });
}

}  // namespace tape::tools
