#pragma once

#include "../gpt.h"
#include "../layout.h"
#include "common.h"

/// GPT2LMHeadModel of transformers.
namespace tape::models::hugging_face {

GptConfig read_gpt_config(const ConfigReader& config);
nlohmann::ordered_json config_json(const Gpt& model, DType dtype);

Layout gpt_layout(const GptConfig& config);

}  // namespace tape::models::hugging_face
