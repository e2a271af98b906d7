#include "tools/train_task.h"

namespace tape::tools {

void add_train(Command app) {
  Command train = app.subcommand("train", "Train a model on text of your own");
  train.footer("Example: tapeformer train lm --text book.txt --out runs/book");
  add_train_translation(train);
  add_train_lm(train);
  add_train_classifier(train);
}

}  // namespace tape::tools
