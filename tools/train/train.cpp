#include "tools/commands.h"

namespace tape::tools {

void add_train(Command app) {
  Command train = app.subcommand("train", "Train a model on your own text");
  train.footer("Example: tapeformer train lm --text book.txt --out runs/book");
  for (const auto add : {add_train_translation, add_train_lm, add_train_classifier, add_train_tokens, add_train_mlm,
                         add_train_embedding})
    add(train);
}

}  // namespace tape::tools
