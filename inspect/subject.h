#pragma once

#include <memory>

#include "../models/folders/folder.h"
#include "../text/tokenizer.h"
#include "frames.h"
#include "patching.h"
#include "study.h"

namespace tape::inspect {

/// What a model is looked at with, as people write it: the options of `tapeformer inspect`, by whose names errors call
/// them.
struct SubjectOptions {
  std::optional<std::string> text = {};    ///< what the model reads
  std::optional<std::string> image = {};   ///< of a model of images in the place of text: a .npy file of pixels
  std::optional<std::string> text_b = {};  ///< a translator's target (else its greedy translation), or a pair's second
  std::optional<std::vector<int64_t>> target = {};  ///< a translator's target as ids, in the place of text_b
  std::optional<std::string> label = {};            ///< of a classifier: whose loss it is
  std::vector<std::string> logits = {};             ///< POSITION:TOKEN, further outputs
  std::vector<std::string> losses = {};             ///< POSITION, whose own loss is a further output
  std::optional<std::string> corrupted = {};        ///< what is read in the place of text, whose targets stay right; of
                                                    ///< an image another file
};

/// A model folder with its tokenizer, and the study of the texts or the image given.
class Subject {
 public:
  /// Errors: (format) for a text that is no UTF-8, (config) for an option that does not fit the model, for more tokens
  /// or patches than a page can show and a tokenizer with more than the model; and those of load_model(),
  /// load_tokenizer(), load_npy() and study().
  Subject(const std::string& folder, const SubjectOptions& options);

  /// The same texts, and what is right of them, with the model of another folder, such as a checkpoint. Errors as
  /// above.
  Subject beside(const std::string& folder) const;
  /// The same model, and what is right, reading another text of as many tokens in the place of `text`, or another file
  /// in the place of `image`. The subject must live on. Error (config) for another number of tokens, and for the same
  /// tokens or pixels.
  Study corrupted(const std::string& other) const;

  const Study& study() const { return study_; }
  const text::Tokenizer* tokenizer() const { return tokenizer_.get(); }  ///< null of a model of images
  /// "Gpt: the tokens of the text", "Vit: image.npy"
  std::string title() const;

 private:
  /// What is right, which other models and other texts might not find themselves.
  SubjectOptions with_targets() const;

  std::string folder_;
  SubjectOptions options_;
  models::AnyModel model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;  // null of a model of images
  Study study_;
};

/// "MODULE:HEAD" as --cut is given it. Error (config) for anything else.
HeadCut head_cut(const std::string& text);

/// "MODULE[:HEAD][@POSITION]" as --patch is given it. Error (config) for anything else.
ActivationPatch activation_patch(const std::string& text);

/// The runs that a page lays side by side: `--film` the checkpoints of the folder, ascending; the model itself; the
/// models of `--beside`; the model without each head of `--cut`; the model reading `--corrupted`; and so with each
/// activation of `--patch` from the clean run.
struct RunOptions {
  bool film = false;
  std::vector<std::string> beside = {}, cuts = {};             ///< folders; MODULE:HEAD
  std::optional<std::string> corrupted = {};                   ///< a text, or a file of pixels
  std::vector<std::string> patches = {};                       ///< MODULE[:HEAD][@POSITION]
  std::function<void(const std::string& name)> progress = {};  ///< called before each run
};
/// None where the options ask for none. Errors: (config) for a film of a folder without checkpoints, for patches
/// without a corrupted text, and those of Subject, frame_of(), head_cut() and activation_patch().
std::vector<Frame> runs_of(const Subject& subject, const std::string& folder, const RunOptions& options);

}  // namespace tape::inspect
