#pragma once

#include <type_traits>

#include "inspected_model.h"

namespace tape::inspect {

/// Whether models of class M read images rather than texts.
template <class M>
inline constexpr bool reads_images = std::is_same_v<M, models::Vit> || std::is_same_v<M, models::ImageClassifier>;

/// Whether a loaded model reads images rather than texts.
bool is_image_model(const models::AnyModel& model);

/// Builds the study of a loaded model as the options specify. The model and the tokenizer, null for image models, must
/// outlive it. Throws what Subject throws.
Study study_of(const models::AnyModel& model, const std::string& folder, const InspectOptions& options,
               const text::Tokenizer* tokenizer);

}  // namespace tape::inspect
