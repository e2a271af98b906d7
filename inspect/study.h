#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../autograd/named_tensor.h"
#include "../models/decoders/causal_lm.h"
#include "../models/encoder_decoders/encoder_decoder.h"
#include "../models/heads/masked_language_model.h"
#include "../models/heads/question_answerer.h"
#include "../models/heads/sequence_classifier.h"
#include "../models/heads/token_classifier.h"
#include "../models/vision/vit.h"

namespace tape::inspect {

/// A text as a model reads it.
struct PageText {
  std::vector<int64_t> ids = {};
  std::vector<std::string> tokens = {};  ///< what the ids are called; the ids in digits where empty
  std::vector<int64_t> segments = {};    ///< of encoders: 0 in the first text, 1 in the second; all 0 where empty
};

/// What a loss says of each position: scores of all tokens, and the one that is right.
struct Prediction {
  Tensor logits = {};                 ///< [..., V], on the tape
  std::vector<int64_t> targets = {};  ///< one a row of the logits
};

/// A number whose gradients a page shows.
struct PageOutput {
  std::string name = {};
  Tensor value = {};                          ///< one element, on the tape
  std::optional<Prediction> prediction = {};  ///< of a loss that is the mean of -ln softmax(logits)[target]
};

/// Their values.
std::vector<double> numbers_of(const std::vector<PageOutput>& outputs);

/// The score of a token at a position: what of a prediction comes from where.
struct LogitChoice {
  int64_t position = 0;  ///< in the text that is predicted from: 0 says the first token of a translation
  int64_t token = 0;  ///< id; of a classifier the label, and the position is 0 where it is one of texts; of an answer
                      ///< 0 for its beginning, 1 for its end
  std::string name = {};  ///< what the token is called
};

/// A computation that can be looked at: a function that is run once, and what stands beside its numbers.
struct Study {
  nn::Module* module = nullptr;   ///< whose parameters name the leaves; none for a plain function. It must live on.
  std::string kind = "function";  ///< "encoder", "decoder", "encoder-decoder", "module" or "function"
  /// An image that is read as a text: its tokens are a class, and patches row by row.
  struct Image {
    Tensor pixels = {};             ///< [1, channels, H, W]
    int64_t rows = 0, columns = 0;  ///< of patches
  };
  /// The texts that attention is between, source and target of an encoder-decoder model; none: no attention is shown.
  struct Text {
    std::string name = {};
    std::vector<std::string> tokens = {};
    std::vector<int64_t> segments = {};
    std::vector<int64_t> ids = {};  ///< none of an image
    std::optional<Image> image = {};
  };
  std::vector<Text> texts = {};
  std::function<std::string(int64_t)> token = {};     ///< what the tokens that are predicted are called; else ids
  std::vector<NamedTensor> leaves = {};               ///< names of leaves that are not parameters of the module
  std::function<std::vector<PageOutput>()> run = {};  ///< at least one; the first is what gradients are checked of
  bool corrupted = false;                             ///< reads something else than what its targets are of
};

struct StudyOptions {
  std::vector<LogitChoice> logits = {};  ///< further outputs, behind the loss
  std::vector<int64_t> positions = {};   ///< whose own losses are further outputs: of what is predicted there
  std::optional<int64_t> label = {};  ///< of a classifier of texts or images: the loss is that of this label, else of
                                      ///< the likeliest
  /// What the model reads in the place of the text, or of a translator's source: as many tokens. What is right stays
  /// that of the text, so that the outputs of both can be compared; a SequenceClassifier needs its label for it.
  std::optional<PageText> reads = {};
  std::optional<int64_t> bos = {};                 ///< begins a target; the model's bos_id where not given
  std::string begin = "<bos>";                     ///< what that token is called
  std::function<std::string(int64_t)> token = {};  ///< what a token that is predicted is called; its id where not given
};

/// The cross-entropy of a target given a source: ids as the tokenizers give them, the target's without beginning and
/// end, which are added (the decoder reads bos and the target, and shall say the target and eos).
///
/// Models run in the mode they are in, over a batch of the one text. Errors: (shape) for tokens or segments that are
/// not one an id, (config) for an empty text, (index) for a position outside the text or a logit outside the
/// vocabulary; and the model's own.
Study study(models::EncoderDecoder& model, const PageText& source, const PageText& target,
            const StudyOptions& options = {});
/// The cross-entropy of each token but the first, given those before it. Error (config) for fewer than two tokens.
Study study(models::CausalLM& model, const PageText& text, const StudyOptions& options = {});
/// The squared length of the mean of the last hidden states: what sentence embeddings are made of. Error (config) for
/// logits and losses of positions, which it has not.
Study study(models::EncoderModel& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of the text's own tokens, none of them hidden.
Study study(models::MaskedLanguageModel& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of a label; the output itself where there is but one. Error (config) for losses of positions.
Study study(models::SequenceClassifier& model, const PageText& text, const StudyOptions& options = {});
/// The cross-entropy of each token's likeliest label, which reading something else does not change.
Study study(models::TokenClassifier& model, const PageText& text, const StudyOptions& options = {});
/// The mean cross-entropy of the likeliest beginning and the likeliest end, which reading something else does not
/// change. Error (config) for losses of positions.
Study study(models::QuestionAnswerer& model, const PageText& text, const StudyOptions& options = {});
/// The squared length of the mean of the last hidden states. The image, f32 or f64 [channels, H, W] or [1, channels, H,
/// W], is a leaf of the tape by the name "pixels": its gradient says what each pixel does. A text of it has the tokens
/// "class" and "row,column" of each patch. Errors: (shape) for other images than the model reads, (dtype) for other
/// numbers, (config) for logits and losses of positions, and for StudyOptions::reads, which is a text.
Study study(models::Vit& model, const Tensor& pixels, const StudyOptions& options = {});
/// The cross-entropy of a label; the output itself where there is but one. The image as above. Error (config) for
/// losses of positions.
Study study(models::ImageClassifier& model, const Tensor& pixels, const StudyOptions& options = {});
/// Any function of any leaves, such as a loss of a module of one's own: the tape alone is shown.
Study study(const std::function<Tensor()>& loss, const std::vector<NamedTensor>& leaves);
Study study(nn::Module& module, const std::function<Tensor()>& loss);

}  // namespace tape::inspect
