#pragma once

#include <memory>

#include "../../models/folders/folder.h"
#include "../../text/tokenizers/tokenizer.h"
#include "../explorer/frames.h"
#include "patching.h"
#include "study.h"

namespace tape::inspect {

/// The options of `tapeformer inspect` as the user writes them; errors use the names of the options.
struct InspectOptions {
  std::optional<std::string> text = {};    ///< input of the model
  std::optional<std::string> image = {};   ///< for image models, instead of a text: a .npy file of pixels
  std::optional<std::string> text_b = {};  ///< target of a translation (default: greedy translation), or second text
  std::optional<std::vector<int64_t>> target = {};  ///< target of a translation as ids, instead of text_b; of token
                                                    ///< labels or an answer, Study::targets
  std::optional<std::string> label = {};            ///< for a classifier: the target of the loss
  std::vector<std::string> logits = {};             ///< POSITION:TOKEN, further outputs
  std::vector<std::string> losses = {};             ///< POSITION, whose own loss is a further output
  std::optional<std::string> corrupted = {};        ///< read instead of text, with the text's targets; for an image
                                                    ///< another file
  bool bf16 = false;  ///< rounds the model's weights to bf16, as in a page with the engine
};

/// A model from a folder with its tokenizer, and the study of the given texts or image.
class InspectedModel {
 public:
  /// Throws Error (format) if a text is not UTF-8, (config) if an option does not fit the model, there are more tokens
  /// or patches than a page can show, or the tokenizer's vocabulary is larger than the model's; and what load_model(),
  /// load_tokenizer(), load_npy() and study() throw.
  InspectedModel(const std::string& folder, const InspectOptions& options);

  /// The same texts and targets with the model of another folder, such as a checkpoint. Throws as above.
  InspectedModel beside(const std::string& folder) const;
  /// The same model and targets, reading another text of as many tokens instead of `text`, or another file instead of
  /// `image`. This object must outlive the result. Throws Error (config) if the number of tokens differs, or if tokens
  /// or pixels are the same.
  Study corrupted(const std::string& other) const;

  /// The study of the inputs. The model in this object is its module, so this object must outlive copies of it.
  const Study& study() const { return study_; }
  /// The folder's tokenizer, owned by this object; null for image models.
  const text::Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// "Gpt: the text", "Transformer: the source → the target", "Vit: image.npy"
  std::string title() const;
  /// Label smoothing of the run that trained the model, from the log.jsonl in its folder or, for a checkpoint, in the
  /// run's folder; nullopt if there is no such log or it has no such option.
  std::optional<double> label_smoothing() const;

 private:
  /// The options with the targets filled in, which other models and texts might predict differently.
  InspectOptions options_with_targets() const;

  std::string folder_;
  InspectOptions options_;
  models::AnyModel model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;  // null for image models
  Study study_;
};

/// Returns a page's title: the model's class and its texts, the decoded target of a translation if none is given, or
/// the file name of its image. The tokenizer may be null for images.
std::string page_title(const nn::Module& model, const InspectOptions& options, const Study& study,
                       const text::Tokenizer* tokenizer);

/// Parses "MODULE:HEAD", the value of --cut. Throws Error (config) for anything else.
HeadAblation parse_head_ablation(const std::string& text);

/// Parses `MODULE[:HEAD][@POSITION]`, the value of --patch. Throws Error (config) for anything else.
ActivationPatch parse_activation_patch(const std::string& text);

/// The runs that a page compares: for `--film` the folder's checkpoints in ascending order; the model itself; the
/// models of `--beside`; the model without each head of `--cut`; the model reading `--corrupted`, also with each
/// activation of `--patch` taken from the clean run.
struct RunOptions {
  bool film = false;                          ///< run the checkpoints in the folder
  std::vector<std::string> beside = {},       ///< folders of models to compare with
      cuts = {};                              ///< heads to ablate, `MODULE:HEAD` each
  std::optional<std::string> corrupted = {};  ///< a text or a file of pixels
  std::vector<std::string> patches = {};      ///< activations, `MODULE[:HEAD][@POSITION]` each; require `corrupted`
  std::function<void(const std::string& name)> progress = {};  ///< called before each run
};
/// Returns the runs, none if the options request none. Throws Error (config) for a film of a folder without checkpoints
/// or patches without a corrupted text, and what Subject, record_frame(), parse_head_ablation() and
/// parse_activation_patch() throw.
std::vector<Frame> record_runs(const InspectedModel& subject, const std::string& folder, const RunOptions& options);

}  // namespace tape::inspect
