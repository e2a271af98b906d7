#include "tools/commands.h"

#include <memory>

#include "autograd/io/safetensors.h"
#include "models/run.h"
#include "train/runs/output_folder.h"

namespace tape::tools {
namespace {

struct RunArguments {
  std::string model, inputs, out, dtype;
  models::RunOptions options;
  Common common;
};

int run(const RunArguments& arguments) {
  prepare(arguments.common);
  train::check_is_not_an_input(arguments.out, {arguments.inputs});
  train::check_is_not_of_a_model(arguments.out, arguments.model);
  const DeviceScope on_device = use_device(arguments.common);
  auto inputs = load_safetensors(arguments.inputs).tensors;
  for (auto& [name, tensor] : inputs) tensor = tensor.to(default_device());
  const models::AnyModel model = models::load_model(arguments.model);
  if (!arguments.dtype.empty()) models::module_of(model).to(arguments.dtype == "f64" ? f64 : f32);
  save_safetensors(arguments.out, models::run(model, inputs, arguments.options));
  return 0;
}

}  // namespace

void add_run(Command app) {
  const auto arguments = std::make_shared<RunArguments>();
  Command command = app.subcommand("run", "Save everything a model computes for given inputs, to compare with PyTorch");
  command.footer(
      "Inputs: tensors input_ids, attention_mask, token_type_ids, position_ids, decoder_input_ids, labels.\n"
      "Outputs: logits, hidden_states.N, attentions.N, loss and, with --grads, grad.<parameter>.\n"
      "Example: tapeformer run --model bert --inputs in.safetensors --out out.safetensors --grads");
  command.option("--model", arguments->model, "Folder with config.json and model.safetensors").required();
  command.option("--inputs", arguments->inputs, "Safetensors file with the inputs by name").required();
  command.option("--out", arguments->out, "Safetensors file to write").required();
  command.flag("--grads", arguments->options.gradients, "Also save the gradient of the loss for every parameter");
  command.option("--dtype", arguments->dtype, "Compute in f32 or f64; default: the dtype of the saved model")
      .one_of({"f32", "f64"});
  add_threads(command, arguments->common);
  add_device(command, arguments->common);
  command.runs([arguments] { return run(*arguments); });
}

}  // namespace tape::tools
