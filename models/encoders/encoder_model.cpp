#include "models/encoders/encoder_model.h"

#include <fmt/format.h>

#include "nn/init.h"

namespace tape::models {

EncoderModel::EncoderModel(const EncoderModelOptions& o)
    : embeddings(this, "embeddings", o.vocab, o.d_model, o.embeddings),
      encoder(this, "encoder", o.layers),
      pooler(o.pooler ? std::make_unique<nn::Child<nn::Pooler>>(this, "pooler", o.d_model) : nullptr),
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

}  // namespace tape::models
