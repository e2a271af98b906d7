#include "models/bart.h"

#include <cmath>

#include "autograd/create.h"
#include "base/check.h"
#include "nn/gradcheck/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

GradcheckReport check_small_bart(const nn::Checker& check, BartKind kind) {
  Bart model({.kind = kind,
              .vocab = 5,
              .d_model = 4,
              .layers = 1,
              .heads = 2,
              .d_ff = 5,
              .decoder_layers = 1,
              .decoder_heads = 1,
              .decoder_d_ff = 6,
              .max_length = 3,
              .scale_embedding = kind == BartKind::mbart,
              .init_std = 0.5});
  return check(model, {tensor({{0, 2, 4}, {3, 2, 1}}, i64), tensor({{2, 4}, {2, 3}}, i64)}, "key.bias");
}

const nn::ModuleCheck bart_check("Bart", "BART",
                                 [](const nn::Checker& check) { return check_small_bart(check, BartKind::bart); });
const nn::ModuleCheck mbart_check("Bart", "mBART",
                                  [](const nn::Checker& check) { return check_small_bart(check, BartKind::mbart); });

const BartConfig& checked(const BartConfig& c) {
  check_at_least_one("Bart", {{"vocab", c.vocab},
                              {"d_model", c.d_model},
                              {"layers", c.layers},
                              {"heads", c.heads},
                              {"d_ff", c.d_ff},
                              {"decoder_layers", c.decoder_layers},
                              {"decoder_heads", c.decoder_heads},
                              {"decoder_d_ff", c.decoder_d_ff},
                              {"max_length", c.max_length}});
  return c;
}

EncoderDecoderOptions parts_of(const BartConfig& c) {
  const nn::TransformerLayerOptions encoder{
      .d_model = c.d_model,
      .heads = c.heads,
      .d_ff = c.d_ff,
      .dropout = c.dropout,
      .activation = c.activation,
      .norm = c.kind == BartKind::mbart ? nn::NormPlace::pre : nn::NormPlace::post,
      .attention_dropout = c.attention_dropout,
      .activation_dropout = c.activation_dropout};
  nn::TransformerLayerOptions decoder = encoder;
  decoder.heads = c.decoder_heads, decoder.d_ff = c.decoder_d_ff;
  return {.src_vocab = c.vocab,
          .tgt_vocab = c.vocab,
          .layers = c.layers,
          .decoder_layers = c.decoder_layers,
          .encoder = encoder,
          .decoder = decoder,
          .learned_positions = LearnedPositions{kBartPositionOffset},
          .max_length = c.max_length,
          .embedding_norm_eps = 1e-5,
          .embedding_scale = c.scale_embedding ? std::sqrt(static_cast<double>(c.d_model)) : 1,
          .dropout = c.dropout,
          .share_embeddings = true,
          .tie_output = true,
          .output_bias = true,
          .freeze_padding = true,  // as transformers: the row learns from the output alone
          .padding_id = c.padding_id,
          .bos_id = c.bos_id,
          .eos_id = c.eos_id,
          .forced_bos = c.forced_bos,
          .begins_with_last = c.kind == BartKind::mbart};
}

}  // namespace

std::string_view to_string(BartKind kind) { return kind == BartKind::mbart ? "mbart" : "bart"; }

Bart::Bart(const BartConfig& c) : EncoderDecoder(parts_of(checked(c))), config_(c) {
  nn::init::start_normal(*this, c.init_std);
}

}  // namespace tape::models
