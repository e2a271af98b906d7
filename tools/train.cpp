#include "tools/train.h"

#include "tools/train_classifier.h"
#include "tools/train_embedding.h"
#include "tools/train_lm.h"
#include "tools/train_mlm.h"
#include "tools/train_tokens.h"
#include "tools/train_translation.h"

namespace tape::tools {

void add_train(Command app) {
  Command train = app.subcommand("train", "Train a model on text of your own");
  train.footer("Example: tapeformer train lm --text book.txt --out runs/book");
  add_train_translation(train);
  add_train_lm(train);
  add_train_classifier(train);
  add_train_tokens(train);
  add_train_mlm(train);
  add_train_embedding(train);
}

}  // namespace tape::tools
