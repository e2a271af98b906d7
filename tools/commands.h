#pragma once

#include "common.h"

// The commands of `tapeformer`, each in the source file of the same name.
namespace tape::tools {

void add_bench(Command app);
void add_classify(Command app);
void add_demo(Command app);
void add_embed(Command app);
void add_export(Command app);
void add_generate(Command app);
void add_import(Command app);
void add_info(Command app);
void add_inspect(Command app);
void add_merge(Command app);
void add_report(Command app);
void add_run(Command app);
void add_score(Command app);
void add_tokenize(Command app);
void add_train(Command app);
void add_translate(Command app);

// The tasks of `tapeformer train`.
void add_train_classifier(Command train);
void add_train_embedding(Command train);
void add_train_lm(Command train);
void add_train_mlm(Command train);
void add_train_tokens(Command train);
void add_train_translation(Command train);

}  // namespace tape::tools
