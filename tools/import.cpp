#include "tools/commands.h"

#include <memory>

#include "models/gguf/import.h"
#include "train/runs/output_folder.h"

namespace tape::tools {

void add_import(Command app) {
  struct Arguments {
    std::string file, out;
    bool overwrite = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command = app.subcommand("import", "Convert another runtime's model to a folder that can be trained further");
  command.footer(
      "Reads GGUF files (llama.cpp): GPT-2, Llama, Mistral, Qwen2 and Qwen3 as F32, F16, BF16, Q8_0 or Q4_0.\n"
      "Example: tapeformer import --gguf smollm2-135m-q8_0.gguf --out smollm2");
  command.option("--gguf", arguments->file, "File to read").required();
  command.option("--out", arguments->out, "Folder to write: config.json, model.safetensors, tokenizer.json").required();
  add_overwrite(command, arguments->overwrite);
  command.runs([arguments] {
    prepare({});
    train::StagedFolder folder(arguments->out, {arguments->file}, arguments->overwrite);
    models::import_gguf(arguments->file, folder.staging());
    folder.complete();
    return 0;
  });
}

}  // namespace tape::tools
