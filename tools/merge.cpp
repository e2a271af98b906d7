#include "tools/commands.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "models/adapters/adapter_folder.h"
#include "models/sentence/sentence_encoder.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/runs/output_folder.h"

namespace tape::tools {
namespace {

struct MergeArguments {
  std::string adapter, model, out;
  bool overwrite = false;
  Common common;
};

int merge(const MergeArguments& arguments) {
  prepare(arguments.common);
  const std::string base = arguments.model.empty() ? models::base_model_folder(arguments.adapter) : arguments.model;
  train::StagedFolder folder(arguments.out, train::inputs_of_run({arguments.adapter}, base), arguments.overwrite);
  if (models::read_pooling(arguments.adapter)) {  // a sentence encoder
    models::save(folder.staging(), *models::load_sentence_encoder(arguments.adapter, base));
  } else {
    const models::AnyModel model = models::load_with_adapter(arguments.adapter, base);
    nn::merge_adapters(models::module_of(model));
    models::save(folder.staging(), model);
  }
  text::load_tokenizer(base)->save(folder.staging());
  folder.complete();
  std::cout << fmt::format("{}: {} with {}\n", arguments.out, base, arguments.adapter);
  return 0;
}

}  // namespace

void add_merge(Command app) {
  const auto arguments = std::make_shared<MergeArguments>();
  Command command = app.subcommand("merge", "Merge adapters into the weights of their base model");
  command.footer(
      "The result is an ordinary model folder that runs as fast as the base model.\n"
      "Example: tapeformer merge --adapter runs/style --out runs/style-merged");
  command.option("--adapter", arguments->adapter, "Folder with adapter_config.json and adapter_model.safetensors")
      .required();
  command.option("--model", arguments->model, "Folder of the base model; default: the one that --adapter names");
  command.option("--out", arguments->out, "Folder to write").required();
  add_overwrite(command, arguments->overwrite);
  add_threads(command, arguments->common);
  command.runs([arguments] { return merge(*arguments); });
}

}  // namespace tape::tools
