#pragma once

#include <memory>

#include "../experiments/study.h"
#include "live_request.h"

namespace tape::inspect {

/// A change of one forward pass. Everything downstream follows, and gradients are those of the edited function.
struct LiveEdit {
  enum class Kind {
    parameter,    ///< one element of a parameter gets a value
    value,        ///< one element of an operation's first output: y + constant
    score,        ///< one attention score, before mask and softmax: score + constant
    weight,       ///< one attention weight, after softmax: weight + constant
    mask,         ///< hides a key from a query: the score becomes -inf
    temperature,  ///< scores are divided by a value
    position,     ///< a token gets the position of another
    ablate        ///< a head's weights become 0
  };
  Kind kind = Kind::value;
  std::string where = {};            ///< path in the request, for errors: "edits[0]."
  std::string name = {};             ///< of a parameter
  std::string module = {};           ///< path of an attention module
  int64_t recorded = 0;              ///< number of operations recorded before that of a value
  std::vector<int64_t> index = {};   ///< of the element
  std::optional<int64_t> head = {};  ///< from 0; all heads if unset, for masks and temperatures
  int64_t query = 0, key = 0;        ///< row and column of scores and weights
  int64_t text = 0, token = 0,       ///< which token of which text of the study
      position = 0;                  ///< its new position, from 0
  double value = 0;                  ///< the new value, or a temperature
};

/// Reads the member "edits" of a request; empty if there is none. Throws Error (config) naming the member.
std::vector<LiveEdit> parse_live_edits(const LiveRequest& request);

/// While in scope, study() runs with edits; its module has the edited parameters. Observers opened inside see the
/// edited values. Each output is edited once per run, before anything reads it, and attention that an AttentionProbe
/// computes again is edited as well. Without edits, nothing changes.
///
///     const EditedStudy edited(study, edits);
///     const auto data = explorer_data(edited.study());
///
/// Throws Error (config or index) that names the edit's member and both values: an unknown parameter or module, an
/// index outside a tensor, a query without a key left, positions that the model does not add.
class EditedStudy {
 public:
  /// Runs the study once to find the operations to edit, in a Composed scope as explorer_data() does.
  EditedStudy(const Study& study, const std::vector<LiveEdit>& edits);
  ~EditedStudy();
  EditedStudy(const EditedStudy&) = delete;
  EditedStudy& operator=(const EditedStudy&) = delete;

  const Study& study() const { return study_; }

 private:
  class Scope;
  std::unique_ptr<Scope> scope_;
  Study study_;
};

/// Why a position edit cannot move the tokens of a model, as a part of a sentence; nullopt if it can.
std::optional<std::string> why_positions_are_fixed(nn::Module& module);

}  // namespace tape::inspect
