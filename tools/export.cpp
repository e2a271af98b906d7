#include "tools/export.h"

#include <memory>

#include "models/gguf_export.h"

namespace tape::tools {
namespace {

struct ExportArguments {
  std::string model, out, format = "gguf", dtype = "f32";
  models::GgufExportOptions options;
  Common common;
};

int export_model(ExportArguments& arguments) {
  prepare(arguments.common);
  constexpr std::pair<const char*, GgufType> types[] = {{"f32", GgufType::F32},
                                                        {"f16", GgufType::F16},
                                                        {"bf16", GgufType::BF16},
                                                        {"q8_0", GgufType::Q8_0},
                                                        {"q4_0", GgufType::Q4_0}};
  for (const auto& [name, type] : types)
    if (arguments.dtype == name) arguments.options.type = type;
  models::export_gguf(arguments.model, arguments.out, arguments.options);
  return 0;
}

}  // namespace

void add_export(Command app) {
  const auto arguments = std::make_shared<ExportArguments>();
  Command command = app.subcommand("export", "A model and its tokenizer in one file, for other runtimes");
  command.footer(
      "gguf is the format of llama.cpp and its kin: GPT-2, Llama, Mistral, Qwen2 and Qwen3, adapters merged.\n"
      "Example: tapeformer export --model runs/book --out book.gguf --dtype q8_0");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and the tokenizer")
      .required();
  command.option("--out", arguments->out, "File to write").required();
  command.option("--format", arguments->format, "Of the file").one_of({"gguf"});
  command.option("--dtype", arguments->dtype, "Of matrices and tables; vectors stay f32")
      .one_of({"f32", "f16", "bf16", "q8_0", "q4_0"});
  command.option("--name", arguments->options.name, "What the model is called in the file")
      .default_text("the folder's");
  command.runs([arguments] { return export_model(*arguments); });
}

}  // namespace tape::tools
