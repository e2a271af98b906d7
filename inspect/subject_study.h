#pragma once

#include <type_traits>

#include "subject.h"

namespace tape::inspect {

/// Whether models of a class read images, not texts.
template <class M>
inline constexpr bool reads_images = std::is_same_v<M, models::Vit> || std::is_same_v<M, models::ImageClassifier>;

/// The study of a model folder's model with what the options say. The model and the tokenizer, null of a model of
/// images, must live on. Errors of Subject.
Study study_of(const models::AnyModel& model, const std::string& folder, const SubjectOptions& options,
               const text::Tokenizer* tokenizer);

}  // namespace tape::inspect
