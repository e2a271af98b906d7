#pragma once

#include <vector>

#include "bart.h"
#include "bert.h"
#include "deberta.h"
#include "distilbert.h"
#include "gpt.h"
#include "gpt_neox.h"
#include "llama.h"
#include "modern_bert.h"
#include "mpnet.h"
#include "roberta.h"
#include "t5.h"
#include "transformer.h"
#include "vit.h"

/// The table of model families: a family that is listed here is read, written and named in messages. The order is that
/// of the messages.
namespace tape::models::hugging_face {

inline std::vector<const ModelFamily*> decoder_families() {
  return {&gpt_family(), &llama_family(), &gpt_neox_family()};
}

inline std::vector<const ModelFamily*> encoder_decoder_families() {
  return {&transformer_family(), &bart_family(), &t5_family()};
}

inline std::vector<const ModelFamily*> vision_families() { return {&vit_family()}; }

inline std::vector<const EncoderFamily*> encoder_families() {
  return {&bert_family(),  &roberta_family(), &xlm_roberta_family(), &distilbert_family(),
          &mpnet_family(), &deberta_family(), &modern_bert_family()};
}

}  // namespace tape::models::hugging_face
