#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../autograd/gradcheck/gradcheck.h"
#include "../models/gpt.h"
#include "../models/sequence_classifier.h"
#include "../models/transformer.h"

namespace tape::inspect {

/// A text as a model reads it.
struct PageText {
  std::vector<int64_t> ids = {};
  std::vector<std::string> tokens = {};  ///< what the ids are called; the ids in digits where empty
  std::vector<int64_t> segments = {};    ///< of the Berts: 0 in the first text, 1 in the second; all 0 where empty
};

/// A number whose gradients a page shows.
struct PageOutput {
  std::string name = {};
  Tensor value = {};  ///< one element, on the tape
};

/// The score of a token at a position: what of a prediction comes from where.
struct LogitChoice {
  int64_t position = 0;   ///< in the text that is predicted from: 0 says the first token of a translation
  int64_t token = 0;      ///< id; of a classifier the label, and the position is 0
  std::string name = {};  ///< what the token is called
};

/// A computation that can be looked at: a function that is run once, and what stands beside its numbers.
struct Study {
  nn::Module* module = nullptr;   ///< whose parameters name the leaves; none for a plain function. It must live on.
  std::string kind = "function";  ///< "encoder", "decoder", "encoder-decoder", "module" or "function"
  /// The texts that attention is between, source and target of an encoder-decoder model; none: no attention is shown.
  struct Text {
    std::string name = {};
    std::vector<std::string> tokens = {};
    std::vector<int64_t> segments = {};
  };
  std::vector<Text> texts = {};
  std::vector<NamedTensor> leaves = {};               ///< names of leaves that are not parameters of the module
  std::function<std::vector<PageOutput>()> run = {};  ///< at least one; the first is what gradients are checked of
};

struct StudyOptions {
  std::vector<LogitChoice> logits = {};  ///< further outputs, behind the loss
  std::optional<int64_t> label = {};  ///< of a SequenceClassifier: the loss is that of this label, else the likeliest
  std::string begin = "<bos>";        ///< what the token that begins a target is called
};

/// The cross-entropy of a target given a source: ids as the tokenizers give them, the target's without beginning and
/// end, which are added (the decoder reads bos and the target, and shall say the target and eos).
///
/// Models run in the mode they are in, over a batch of the one text. Errors: (shape) for tokens or segments that are
/// not one an id, (config) for an empty text, (index) for a logit outside the text or the vocabulary; and the model's
/// own.
Study study(models::Transformer& model, const PageText& source, const PageText& target,
            const StudyOptions& options = {});
/// The cross-entropy of each token but the first, given those before it. Error (config) for fewer than two tokens.
Study study(models::Gpt& model, const PageText& text, const StudyOptions& options = {});
/// The squared length of the mean of the last hidden states: what sentence embeddings are made of. Error (config) for
/// logits, which it has not.
Study study(models::Bert& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of the text's own tokens, none of them hidden.
Study study(models::MaskedLanguageModel& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of a label; the output itself where there is but one.
Study study(models::SequenceClassifier& model, const PageText& text, const StudyOptions& options = {});
/// Any function of any leaves, such as a loss of a module of one's own: the tape alone is shown.
Study study(const std::function<Tensor()>& loss, const std::vector<NamedTensor>& leaves);
Study study(nn::Module& module, const std::function<Tensor()>& loss);

struct PageOptions {
  std::string title = {};                         ///< the class of the model where empty
  std::optional<GradcheckReport> gradcheck = {};  ///< shown with the tape, what is guilty marked
  /// Values of the tape are cut to this many rows and columns, and to fewer where the page would become too large.
  int64_t side = 24;
  int64_t bytes = 4'000'000;  ///< of all data, about; a fifth of it is the tape's in any case
  std::string address = {};   ///< of the page, in front of the nodes' addresses in the report of the check
};

/// One self-contained HTML file: forward and backward of the study in a Composed and a Trace scope, each operation with
/// its values, gradients, contributions, times and formulas; heads, neurons, softmax and LayerNorm in numbers; the tape
/// and its replay. Gradients are of each output in turn; no grad() is touched, and no value differs from what the
/// function gives otherwise in those scopes. The file is written beside, flushed and renamed.
///
/// Errors: (config) for a study without outputs, (graph) for an output without a tape, (shape) for one of several
/// elements, (io) naming the file.
void write_page(const std::string& path, const Study& study, const PageOptions& options = {});

/// The tape of a study's first output in Graphviz's language, as the function records it, with the ranges of all values
/// and of the gradients on their way to the leaves that have names (to_dot of inspect/dot.h). Errors as write_page's.
std::string tape_dot(const Study& study);

/// Compares the gradients of a study's first output with central differences in f64 (nn::gradcheck's), and looks for
/// the operation that is guilty where they differ. The module runs in f64 for it, and is left as it was. Passed over
/// are parameters that are frozen or that the output does not depend on, and biases of keys where their gradient is
/// zero but for rounding: what is added to all keys alike shifts all scores of a query alike, and softmax does not see
/// it.
GradcheckReport check_gradients(const Study& study, const GradcheckOptions& options = {.directions = 8});

}  // namespace tape::inspect
