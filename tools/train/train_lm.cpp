#include "tools/commands.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "tools/train/train_task.h"
#include "train/tasks/language_model.h"

namespace tape::tools {
namespace {

struct TrainLmArguments : TrainArguments {
  train::LanguageModelOptions options;
  std::string level = "char", architecture = "gpt2";
  train::DecoderInit init;
  AdapterArguments adapters;
};

std::vector<std::string> names_of(const auto& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const auto& row : rows) names.emplace_back(row.first);
  return names;
}

/// Throws Error (config) for options that the others make irrelevant.
void check_options_have_effect(const TrainLmArguments& arguments) {
  const train::LanguageModelOptions& options = arguments.options;
  if (!arguments.init.folder.empty())
    refuse_given(arguments, {"--architecture", "--level", "--vocab-size"},
                 "cannot be set with --init, whose model determines it");
  if (!options.tokenizer.empty())
    refuse_given(arguments, {"--level", "--vocab-size"}, "has no effect with --tokenizer, which is not trained");
  if (arguments.level == "char") refuse_given(arguments, {"--vocab-size"}, "has no effect with --level char");
  if (!options.valid.empty()) refuse_given(arguments, {"--valid-fraction"}, "has no effect with --valid");
  const auto format = [&](const std::string& file) { return options.format.value_or(train::text_format_of(file)); };
  const train::TextFormat text = format(options.text);
  if (!train::records_of(text) && (options.valid.empty() || !train::records_of(format(options.valid))))
    refuse_given(arguments, {"--text-column", "--prompt-column", "--completion-column"},
                 fmt::format("applies to records only, and {} is read as {}", options.text, train::to_string(text)));
}

int train_lm(TrainLmArguments& arguments) {
  begin_run(arguments);
  check_options_have_effect(arguments);
  train::LanguageModelOptions& options = arguments.options;
  options.run = arguments.run;
  options.level = arguments.level == "bpe" ? train::TokenLevel::bpe : train::TokenLevel::characters;
  for (const auto& [name, kind] : train::kDecoderKinds)
    if (name == arguments.architecture) options.architecture = kind;
  if (!arguments.init.folder.empty()) {
    arguments.init.adapters = adapters_of(arguments.adapters);
    options.init = arguments.init;
  }
  if (arguments.doctor) return show(train::examine_language_model(options, std::cout));
  const auto result = train::train_language_model(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f} per token\n", result.valid_loss);
    figures = {{"valid_loss", result.valid_loss}};
  }
  print_end(arguments, result.run,
            {"{0} generate --model {1} --prompt {2}", "{0} inspect --model {1} --text {2} --out {1}/inspect.html",
             "{0} report --model {1}"});
  return end_run(arguments, result.run, std::move(figures));
}

/// Adds --init, --freeze and the options of adapters.
void add_init_options(Command& command, TrainLmArguments& arguments) {
  const Option init =
      command.option("--init", arguments.init.folder, "Folder of a decoder-only model to start from").value_name("DIR");
  command.option("--freeze", arguments.init.freeze, "PATTERNs of modules of --init to freeze").needs(init);
  add_adapter_options(command, arguments.adapters, init);
}

}  // namespace

void add_train_lm(Command train) {
  const auto arguments = std::make_shared<TrainLmArguments>();
  train::LanguageModelOptions& o = arguments->options;
  Command command = train.subcommand("lm", "Train a language model");
  command.option("--text", o.text, "Training file, see below").value_name("FILE").required();
  command.option("--valid", o.valid, "Validation file; default: the end of --text").value_name("FILE");
  command.option("--valid-fraction", o.valid_fraction, "Share of --text used for validation").within(0, 1);
  command.choice("--format", o.format,
                 {{"text", train::TextFormat::text},
                  {"tokens", train::TextFormat::tokens},
                  {"jsonl", train::TextFormat::jsonl},
                  {"csv", train::TextFormat::csv},
                  {"tsv", train::TextFormat::tsv}},
                 "Contents of the files: a text, tokens as nanoGPT writes them, or records");
  command.option("--text-column", o.fields.text, "Records: field of the text");
  command.option("--prompt-column", o.fields.prompt, "Records without a text: field of the prompt, not trained on");
  command.option("--completion-column", o.fields.completion, "Records without a text: field of the completion");
  command.flag("--pack", o.pack, "Pack several documents into each row of --context, without attention between them");
  command.option("--tokenizer", o.tokenizer, "Folder of a tokenizer; default: train one").value_name("DIR");
  command.option("--level", arguments->level, "Tokens are characters or pieces of a byte-level BPE")
      .one_of({"char", "bpe"});
  command.footer(
      "  preset       layers  width  heads  context  batch  steps  lr     warmup  dropout\n"
      "  nano              4    128      4       64     12   2000  1e-3      100  0\n"
      "  shakespeare       6    192      6      256     16   3000  2e-3      100  0.1\n"
      "Both: weight decay 0.1, clip norm 1, an evaluation every 250 steps. The default is nano.\n"
      "  fine-tune      as --init             256      8    500  1e-4       50  its own\n"
      "  adapters       as --init             256      8    500  1e-3       50  its own\n"
      "These are the defaults with --init and with --lora-rank, with an evaluation every 100 steps.\n"
      "transformers can load the resulting folder as a model of --architecture.\n"
      "Files: .bin contains tokens (uint16, or uint32 for a vocabulary above 65,536); .jsonl, .csv and .tsv documents, "
      "records\n"
      "with a text, or with a prompt and a completion (only completions are trained on); any other file one text.\n"
      "Example: tapeformer train lm --text book.txt --out runs/book\n"
      "Example: tapeformer train lm --text questions.jsonl --init gpt2 --pack --out runs/answers");
  command.option("--vocab-size", o.vocab_size, "Vocabulary size of the BPE").at_least(1);
  command.option("--context", o.context, "Context length in tokens").at_least(1).default_text("preset");
  command.option("--batch", o.batch, "Windows of --context tokens per batch").at_least(1).default_text("preset");
  command.option("--architecture", arguments->architecture, "Model type, named as in transformers")
      .one_of(names_of(train::kDecoderKinds));
  add_model_options(command, o.layers, o.width, o.heads);
  command.option("--kv-heads", o.kv_heads, "llama and qwen3: number of key/value heads")
      .at_least(1)
      .default_text("--heads");
  command.option("--window", o.window, "qwen3: sliding attention window in tokens").at_least(1).default_text("all");
  command
      .choice("--activation", o.activation,
              {{"gelu_new", nn::ActivationKind::gelu_tanh}, {"gelu", nn::ActivationKind::gelu}},
              "gpt2: activation function, named as in transformers; GGUF needs gelu_new")
      .default_text("gelu_new");
  add_init_options(command, *arguments);
  add_run_options(command, *arguments, {"nano", "shakespeare", "fine-tune", "adapters"});
  command.runs([arguments] { return train_lm(*arguments); });
}

}  // namespace tape::tools
