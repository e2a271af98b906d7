#include "tools/train_task.h"

namespace tape::tools {

void add_train(CLI::App& app, Chosen& chosen) {
  CLI::App& train = *app.add_subcommand("train", "Train a model on text of your own");
  train.require_subcommand(1);
  train.footer("Example: tapeformer train lm --text book.txt --out runs/book");
  add_train_translation(train, chosen);
  add_train_lm(train, chosen);
  add_train_classifier(train, chosen);
}

}  // namespace tape::tools
