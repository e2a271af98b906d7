#include "tools/train_classifier.h"

#include <iostream>
#include <memory>

#include "autograd/tape/scope.h"
#include "tools/train_task.h"
#include "train/classification.h"

namespace tape::tools {
namespace {

struct Arguments : TrainArguments {
  train::ClassificationOptions options;
  std::string format = "tsv", pooling;
};

int train_classifier(Arguments& arguments) {
  begin_run(arguments);
  train::ClassificationOptions& options = arguments.options;
  options.run = arguments.run;
  if (arguments.format == "label-first") options.format = text::LabelFormat::label_space_sentence;
  if (!arguments.pooling.empty())
    options.pooling = arguments.pooling == "mean" ? nn::Pooling::mean : nn::Pooling::first;
  if (arguments.doctor) return show(train::examine_classification(options, std::cout));
  const auto result = train::train_classification(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f}, accuracy {:.2f}%, macro-F1 {:.4f}\n", result.valid_loss,
                             100 * result.valid_accuracy, result.valid_macro_f1);
    figures = {{"valid_loss", result.valid_loss},
               {"valid_accuracy", result.valid_accuracy},
               {"valid_macro_f1", result.valid_macro_f1}};
  }
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_classifier(Command train) {
  const auto arguments = std::make_shared<Arguments>();
  train::ClassificationOptions& o = arguments->options;
  Command command = train.subcommand("classifier", "Learn to tell which label a line has");
  command.footer(
      "Example: tapeformer train classifier --data train.tsv --valid dev.tsv --init MiniLM --out runs/sentiment");
  command.option("--data", o.data, "Labelled lines to learn from").required();
  command.option("--valid", o.valid, "Labelled lines to validate with, in place of some of --data");
  command.option("--valid-fraction", o.valid_fraction, "How many of each label those are (0.1)");
  command.option("--format", arguments->format, "tsv: sentence TAB label; label-first: label SPACE sentence")
      .one_of({"tsv", "label-first"});
  command.option("--init", o.init, "Folder of a BERT to begin with; without it the model starts from scratch");
  command.flag("--new-head", o.new_head, "Where --init is a classifier: learn other labels than its own");
  command.option("--freeze", o.freeze, "Hold the embeddings and so many layers of --init still");
  command.option("--layer-decay", o.layer_decay, "Rate of each layer of --init beside the one above it (1)");
  command
      .option("--pooling", arguments->pooling,
              "How positions become one vector; mean from scratch, else as --init has it")
      .one_of({"first", "mean"});
  command.option("--epochs", o.epochs, "Length of the run, in place of --steps");
  command.option("--batch", o.batch, "Lines a batch (32)");
  command.option("--batch-tokens", o.batch_tokens, "Most tokens of a batch besides, with padding");
  command.option("--max-length", o.max_length, "Tokens of a line, longer ones are cut; the model's positions");
  command.option("--vocab-size", o.vocab_size, "From scratch: tokens of the byte-level BPE");
  command.option("--layers", o.layers, "From scratch: layers of the model");
  command.option("--width", o.width, "From scratch: width of the model");
  command.option("--heads", o.heads, "From scratch: heads of its attention");
  add_run_options(command, *arguments,
                  "small (2 layers of width 128, 10 epochs) from scratch, fine-tune (3 epochs) with --init");
  command.runs([arguments] { return train_classifier(*arguments); });
}

}  // namespace tape::tools
