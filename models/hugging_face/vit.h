#pragma once

#include "../layout.h"
#include "../vit.h"
#include "common.h"

/// ViTModel and ViTForImageClassification of transformers.
namespace tape::models::hugging_face {

/// Error (config) for what is not computed here: an interpolation of positions, a pooler of another width.
VitConfig read_vit_config(const ConfigReader& config);
ImageClassifierConfig read_image_classifier_config(const ConfigReader& config);

nlohmann::ordered_json config_json(const Vit& model, DType dtype);
nlohmann::ordered_json config_json(const ImageClassifier& model, DType dtype);

Layout vit_layout(const VitConfig& config);
Layout image_classifier_layout(const ImageClassifierConfig& config);

}  // namespace tape::models::hugging_face
