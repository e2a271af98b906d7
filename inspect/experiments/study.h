#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../../autograd/named_tensor.h"
#include "../../models/decoders/causal_lm.h"
#include "../../models/encoder_decoders/encoder_decoder.h"
#include "../../models/heads/masked_language_model.h"
#include "../../models/heads/question_answerer.h"
#include "../../models/heads/sequence_classifier.h"
#include "../../models/heads/token_classifier.h"
#include "../../models/vision/vit.h"

namespace tape::inspect {

/// A text as input of a model.
struct PageText {
  std::vector<int64_t> ids = {};         ///< token ids, as the model reads them
  std::vector<std::string> tokens = {};  ///< text of each id; the ids as digits if empty
  std::vector<int64_t> segments = {};    ///< for encoders: 0 in the first text, 1 in the second; all 0 if empty
};

/// The predictions behind a loss: scores over all tokens and the target at each position.
struct Prediction {
  Tensor logits = {};                  ///< [..., V], on the tape
  std::vector<int64_t> targets = {};   ///< one per row of the logits
  const char* classes = "token";       ///< what the V classes are: "token", "label" or "position"
  std::vector<std::string> rows = {};  ///< names of the rows if they are not positions of a text: "start", "end"
};

/// A scalar whose gradients a page shows.
struct PageOutput {
  std::string name = {};                      ///< display name: "loss", or the position and the token of a logit
  Tensor value = {};                          ///< one element, on the tape
  std::optional<Prediction> prediction = {};  ///< for a loss that is the mean of -ln softmax(logits)[target]
};

/// The values of the outputs.
std::vector<double> values_of(const std::vector<PageOutput>& outputs);

/// The logit of a token at a position, to see which inputs contribute to it.
struct LogitChoice {
  int64_t position = 0;   ///< in the text predicted from: 0 predicts the first token of a translation
  int64_t token = 0;      ///< id; for a classifier the label (position 0 if it classifies whole texts); for question
                          ///< answering 0 for the start, 1 for the end
  std::string name = {};  ///< text of the token
};

/// A computation to inspect: a function that is run once, and the names and texts to show with its values.
struct Study {
  nn::Module* module = nullptr;   ///< names the leaves by its parameters; null for a plain function. Must outlive this.
  std::string kind = "function";  ///< "encoder", "decoder", "encoder-decoder", "module" or "function"
  /// An image read as a sequence: its tokens are a class token and the patches row by row.
  struct Image {
    Tensor pixels = {};  ///< [1, channels, H, W]
    int64_t rows = 0,    ///< number of rows of patches
        columns = 0;     ///< number of patches per row
  };
  /// The texts that attention connects: source and target of an encoder-decoder model. Empty: no attention is shown.
  struct Text {
    std::string name = {};                 ///< "source", "target", "text" or "image"
    std::vector<std::string> tokens = {};  ///< text of each token
    std::vector<int64_t> segments = {};    ///< 0 in the first text, 1 in the second; all 0 if empty
    std::vector<int64_t> ids = {};         ///< empty for an image
    std::optional<Image> image = {};       ///< for a study of an image
  };
  std::vector<Text> texts = {};                       ///< empty for a plain function
  std::function<std::string(int64_t)> token = {};     ///< text of a predicted token; ids if unset
  std::vector<NamedTensor> leaves = {};               ///< names of leaves that are not parameters of the module
  std::function<std::vector<PageOutput>()> run = {};  ///< returns at least one; gradients of the first are checked
  bool corrupted = false;                             ///< reads a text other than the one its targets are of
  /// Targets of the loss of a classifier or question answerer: a label, a label per token, or start and end. All runs
  /// have the same ones, even if an edited or ablated run predicts others.
  std::vector<int64_t> targets = {};
};

/// Options of study().
struct StudyOptions {
  std::vector<LogitChoice> logits = {};  ///< further outputs, after the loss
  std::vector<int64_t> positions = {};   ///< positions whose own prediction losses are further outputs
  std::optional<int64_t> label = {};     ///< for classifiers of texts or images: the target of the loss; the likeliest
                                         ///< label if unset
  /// For token classifiers and question answering: Study::targets; the likeliest if unset.
  std::optional<std::vector<int64_t>> targets = {};
  /// What the model reads instead of the text, or of a translation's source; as many tokens. The targets stay those of
  /// the text, so that the outputs of both can be compared.
  std::optional<PageText> reads = {};
  std::optional<int64_t> bos = {};                 ///< begins a target; the model's bos_id if unset
  std::string begin = "<bos>";                     ///< text of that token
  std::function<std::string(int64_t)> token = {};  ///< text of a predicted token; its id if unset
};

/// The cross-entropy of a target given a source. ids are as the tokenizers return them; the target's have no begin and
/// end tokens, which are added (the decoder reads bos and the target, and predicts the target and eos).
///
/// Models run in their current mode, over a batch of one text. Throws Error (shape) if tokens or segments do not match
/// the ids, (config) if a text is empty, (index) if a position is outside the text or a logit outside the vocabulary,
/// and whatever the model throws.
Study study(models::EncoderDecoder& model, const PageText& source, const PageText& target,
            const StudyOptions& options = {});
/// The cross-entropy of each token after the first, given those before it. Throws Error (config) for fewer than two.
Study study(models::CausalLM& model, const PageText& text, const StudyOptions& options = {});
/// The squared norm of the mean of the last hidden states, from which sentence embeddings are made. Throws Error
/// (config) for logits and losses of positions, since there is no head.
Study study(models::EncoderModel& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of the text's own tokens, none of them masked.
Study study(models::MaskedLanguageModel& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of a label. If the model's problem type is multi-label classification, the binary cross-entropy of
/// the label alone; if it is regression or there is only one output, the output itself. The label is the likeliest for
/// the text unless given. Throws Error (config) for losses of positions.
Study study(models::SequenceClassifier& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of each token's likeliest label, as predicted for the text even if StudyOptions::reads is set, or
/// of StudyOptions::targets. Throws Error (config) for another number of targets, (index) for a target outside the
/// labels.
Study study(models::TokenClassifier& model, const PageText& text, const StudyOptions& options = {});
/// The mean cross-entropy of the likeliest start and the likeliest end, as predicted for the text even if
/// StudyOptions::reads is set, or of StudyOptions::targets. Throws Error (config) for losses of positions and another
/// number of targets, (index) for a target outside the text.
Study study(models::QuestionAnswerer& model, const PageText& text, const StudyOptions& options = {});
/// The squared norm of the mean of the last hidden states. The image, f32 or f64 [channels, H, W] or [1, channels, H,
/// W], is a leaf named "pixels", so its gradient shows the effect of each pixel. Its tokens are "class" and
/// "row,column" for each patch. Throws Error (shape) if the image does not fit the model, (dtype) for other dtypes,
/// (config) for logits, losses of positions and StudyOptions::reads, which is a text.
Study study(models::Vit& model, const Tensor& pixels, const StudyOptions& options = {});
/// The output of a SequenceClassifier, for an image as above. Throws Error (config) for losses of positions.
Study study(models::ImageClassifier& model, const Tensor& pixels, const StudyOptions& options = {});
/// Any function of any leaves, such as the loss of a custom module: only the tape is shown.
Study study(const std::function<Tensor()>& loss, const std::vector<NamedTensor>& leaves);
/// Any function of a module, whose parameters are the leaves. The module must outlive the study.
Study study(nn::Module& module, const std::function<Tensor()>& loss);

}  // namespace tape::inspect
