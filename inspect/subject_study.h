#pragma once

#include "subject.h"

namespace tape::inspect {

/// The study of a model folder's model with what the options say. The model and the tokenizer, null of a model of
/// images, must live on. Errors of Subject.
Study study_of(const models::AnyModel& model, const std::string& folder, const SubjectOptions& options,
               const text::Tokenizer* tokenizer);

}  // namespace tape::inspect
