#include "tools/commands.h"

#include <memory>
#include <span>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/io/npy.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/shape/join.h"
#include "autograd/tape/scope.h"
#include "models/folders/tokenizer_fit.h"
#include "models/sentence/sentence_encoder.h"
#include "text/tokenizers/load_tokenizer.h"
#include "tools/classify.h"
#include "tools/terminal/lines.h"
#include "train/runs/output_folder.h"

namespace tape::tools {
namespace {

struct EmbedArguments {
  std::string model, npy;
  int64_t buffer = 2000;
  models::EmbedTextOptions options;
  Common common;
};

/// Rows as lines of space-separated values or as JSON lists. Nine digits preserve an f32 exactly.
std::string rows_text(const Tensor& vectors, bool json) {
  const std::vector<float> values = cast(vectors, f32).to_vector<float>();
  const auto width = static_cast<size_t>(vectors.size(1));
  std::string out;
  for (size_t begin = 0; begin < values.size(); begin += width) {
    const auto row = std::span(values).subspan(begin, width);
    out += json ? fmt::format("[{:.9g}]\n", fmt::join(row, ",")) : fmt::format("{:.9g}\n", fmt::join(row, " "));
  }
  return out;
}

/// Embeds lines of text. The vectors are printed or collected for the file.
class Vectors {
 public:
  explicit Vectors(const EmbedArguments& arguments)
      : arguments_(arguments),
        options_(arguments.options),
        model_(models::load_sentence_encoder(arguments.model)),
        tokenizer_(text::load_tokenizer(arguments.model)) {
    if (!arguments.npy.empty()) train::check_is_not_of_a_model(arguments.npy, arguments.model);
    models::check_tokenizer_fits(arguments.model, *tokenizer_, "vocab_size", model_->base->vocab());
    model_->prepare_for_inference();
    options_.on_text = [this](const std::string& text, const text::Encoding& whole, bool cut) {
      ++read_.count;
      if (cut) ++read_.cut;
      read_.unknown.add(*tokenizer_, whole, text);
    };
  }

  std::string lines(const std::vector<std::string>& texts) {
    const Tensor vectors = models::embed(*model_, *tokenizer_, texts, options_);
    if (arguments_.npy.empty()) return rows_text(vectors, arguments_.common.json);
    all_.push_back(vectors);
    return "";
  }

  void report() const {
    read_.report(model_->max_tokens());
    if (arguments_.npy.empty()) return;
    save_npy(arguments_.npy, cast(all_.empty() ? empty({0, model_->width()}) : cat(all_), f32));
  }

 private:
  const EmbedArguments& arguments_;
  models::EmbedTextOptions options_;
  std::unique_ptr<models::SentenceEncoder> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  Tensors all_;
  LineStats read_;
};

int embed(const EmbedArguments& arguments) {
  prepare(arguments.common);
  const DeviceScope on_device = use_device(arguments.common);
  const MatmulPrecisionScope precision(arguments.common.matmul_precision());
  process_lines(arguments.buffer, Vectors(arguments));
  return 0;
}

}  // namespace

void add_embed(Command app) {
  const auto arguments = std::make_shared<EmbedArguments>();
  Command command = app.subcommand("embed", "Print an embedding vector for each line of standard input");
  command.footer(
      "Prints one line of values per input line, in input order. The vectors equal encode() of sentence-transformers.\n"
      "For an encoder without pooling (BERT, RoBERTa, ...) the vector is the mean of its last hidden states.\n"
      "Example: tapeformer embed --model all-MiniLM-L6-v2 --npy vectors.npy < sentences.txt");
  command.option("--model", arguments->model, "Folder of a sentence encoder (sentence-transformers) or of any encoder")
      .required();
  command
      .option("--npy", arguments->npy, "Write the vectors to this file, f32 [lines, width], instead of printing them")
      .value_name("FILE");
  const Option prompt =
      command.option("--prompt", arguments->options.prompt, "Text before each line, such as 'query: '");
  command.option("--prompt-name", arguments->options.prompt_name, "Use the model's prompt of this name instead")
      .excludes(prompt);
  command.option("--batch-tokens", arguments->options.batch_tokens, "Tokens per batch, with padding").at_least(1);
  command.option("--buffer-lines", arguments->buffer, "Lines to read before sorting and encoding").at_least(1);
  command.flag("--json", arguments->common.json, "Print one JSON list per line");
  add_threads(command, arguments->common);
  add_precision(command, arguments->common);
  add_device(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return embed(*arguments); }); });
}

}  // namespace tape::tools
