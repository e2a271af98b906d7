#include "models/encoders/encoder_model.h"

#include "nn/init.h"

namespace tape::models {

EncoderModel::EncoderModel(const EncoderModelOptions& o)
    : embeddings(this, "embeddings", o.embeddings),
      encoder(this, "encoder", o.layers, o.relative_bias),
      pooler(o.pooler ? std::make_unique<nn::Child<nn::Pooler>>(this, "pooler", o.embeddings.d_model) : nullptr),
      options_(o) {
  nn::init::start_normal(*this, o.init_std);
}

Tensor EncoderModel::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  return encoder(embeddings(ids, segments), mask);
}

Tensor EncoderModel::forward(const Tensor& ids) { return forward(ids, padding(ids)); }

Tensor EncoderModel::pool(const Tensor& hidden) {
  if (!pooler) raise(ErrorKind::config, "{}: this model has no pooler", type_name());
  return (*pooler)(hidden);
}

std::string EncoderModel::settings() const { return fmt::format("{} ids, width {}", vocab(), width()); }

EncoderModelOptions encoder_parts(const std::string& family, const EncoderSizes& sizes,
                                  const nn::TransformerLayerOptions& layer) {
  EncoderModelOptions parts{.family = family,
                            .embeddings = {.vocab = sizes.vocab,
                                           .d_model = layer.d_model,
                                           .max_length = sizes.max_length,
                                           .segments = sizes.segments,
                                           .norm_eps = layer.norm_eps,
                                           .dropout = layer.dropout},
                            .layers = std::vector(static_cast<size_t>(sizes.layers), layer),
                            .max_length = sizes.max_length,
                            .padding_id = sizes.padding_id,
                            .masked_token = {.activation = layer.activation, .norm_eps = layer.norm_eps},
                            .sequence = {.dropout = layer.dropout},
                            .token = {.dropout = layer.dropout},
                            .span = {.dropout = 0}};
  if (sizes.padding_id >= 0 && sizes.padding_id < sizes.vocab) parts.embeddings.padding_index = sizes.padding_id;
  return parts;
}

}  // namespace tape::models
