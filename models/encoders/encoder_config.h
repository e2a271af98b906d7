#pragma once

#include <variant>

#include "bert.h"
#include "deberta.h"
#include "distilbert.h"
#include "modern_bert.h"
#include "mpnet.h"
#include "roberta.h"

namespace tape::models {

/// An encoder of any family, as the models that put a head on one are given it. All have vocab, d_model, layers, heads,
/// d_ff, max_length, dropout, attention_dropout, padding_id and init_std.
using EncoderConfig =
    std::variant<BertConfig, RobertaConfig, DistilBertConfig, MPNetConfig, DebertaConfig, ModernBertConfig>;

/// What the model is made of. Error (config) naming the value that does not fit.
EncoderModelOptions parts_of(const EncoderConfig& config);
/// Without the pooler, which heads do not read.
EncoderModelOptions parts_without_pooler(const EncoderConfig& config);

/// With the pooler or without, where the family has one.
EncoderConfig with_pooler(EncoderConfig config, bool pooler);

/// The configuration of the class that a model is of. Error (config) for an EncoderModel of other parts, for which
/// transformers has no class.
EncoderConfig config_of(const EncoderModel& model);

}  // namespace tape::models
