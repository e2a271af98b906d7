#pragma once

#include <variant>

#include "bert.h"
#include "deberta.h"
#include "distilbert.h"
#include "modern_bert.h"
#include "mpnet.h"
#include "roberta.h"

namespace tape::models {

/// Configuration of an encoder of any family, taken by models with a head. All have vocab, d_model, layers, heads,
/// d_ff, max_length, dropout, attention_dropout, padding_id and init_std.
using EncoderConfig =
    std::variant<BertConfig, RobertaConfig, DistilBertConfig, MPNetConfig, DebertaConfig, ModernBertConfig>;

/// Architecture of the encoder. Throws Error (config) naming the invalid value.
EncoderModelOptions model_options(const EncoderConfig& config);
/// The same without the pooler, for heads that do not use it.
EncoderModelOptions options_without_pooler(const EncoderConfig& config);

/// The configuration with or without the pooler, if the family has one.
EncoderConfig with_pooler(EncoderConfig config, bool pooler);

/// The configuration of a model's class. Throws Error (config) for a custom EncoderModel, for which transformers has no
/// class.
EncoderConfig config_of(const EncoderModel& model);

}  // namespace tape::models
