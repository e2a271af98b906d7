#pragma once

#include <string>

#include "../models/encoder_model.h"

namespace tape::train {

/// Writes what a folder of sentence-transformers has beside encoder and tokenizer: modules.json (the encoder, pooling,
/// vectors of length 1), 1_Pooling/config.json, sentence_bert_config.json with the most tokens of a text, and
/// config_sentence_transformers.json, which says that cosines are compared. Error (io).
void save_embedding_files(const std::string& folder, const models::EncoderModel& model, nn::Pooling pooling,
                          int64_t max_length);

}  // namespace tape::train
