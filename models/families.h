#pragma once

#include <vector>

#include "decoders/gpt.h"
#include "decoders/gpt_neox.h"
#include "decoders/llama.h"
#include "encoder_decoders/bart.h"
#include "encoder_decoders/t5.h"
#include "encoder_decoders/transformer.h"
#include "encoders/bert.h"
#include "encoders/deberta.h"
#include "encoders/distilbert.h"
#include "encoders/modern_bert.h"
#include "encoders/mpnet.h"
#include "encoders/roberta.h"
#include "vision/vit.h"

/// The table of model families. Every family listed here can be loaded, saved and named in messages, which list them in
/// this order.
namespace tape::models::hugging_face {

class ModelFamily;
struct EncoderFamily;

/// A family, by which its folders are read and written; encoders with and without a head.
/// @{
const ModelFamily& gpt_family();
const ModelFamily& llama_family();
const ModelFamily& gpt_neox_family();
const ModelFamily& transformer_family();
const ModelFamily& bart_family();
const ModelFamily& t5_family();
const ModelFamily& vit_family();
const EncoderFamily& bert_family();
const EncoderFamily& roberta_family();
const EncoderFamily& xlm_roberta_family();
const EncoderFamily& distilbert_family();
const EncoderFamily& mpnet_family();
const EncoderFamily& deberta_family();
const EncoderFamily& modern_bert_family();
/// @}

/// Families of decoder-only models.
inline std::vector<const ModelFamily*> decoder_families() {
  return {&gpt_family(), &llama_family(), &gpt_neox_family()};
}

/// Families of encoder-decoder models.
inline std::vector<const ModelFamily*> encoder_decoder_families() {
  return {&transformer_family(), &bart_family(), &t5_family()};
}

/// Families of image models.
inline std::vector<const ModelFamily*> vision_families() { return {&vit_family()}; }

/// Families of encoders.
inline std::vector<const EncoderFamily*> encoder_families() {
  return {&bert_family(),  &roberta_family(), &xlm_roberta_family(), &distilbert_family(),
          &mpnet_family(), &deberta_family(), &modern_bert_family()};
}

}  // namespace tape::models::hugging_face
