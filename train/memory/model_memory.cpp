#include "train/memory/model_memory.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "base/physical_memory.h"
#include "models/encoder_decoders/transformer_json.h"
#include "models/encoders/architectures.h"
#include "models/families.h"
#include "models/folders/family_of.h"
#include "train/init/fine_tuning.h"

namespace tape::train {
namespace {

namespace hugging_face = models::hugging_face;

/// count(layers), which is linear from the second layer on: extrapolated, so that no layout of absurdly many is built.
template <class Count>
double of_layers(int64_t layers, Count&& count) {
  const double one = count(1);
  return one + (static_cast<double>(layers) - 1) * (count(2) - one);
}

template <class M, class Config>
double decoder_count(const hugging_face::ModelFamily& family, Config config) {
  return of_layers(config.layers, [&](int64_t layers) {
    config.layers = layers;
    return hugging_face::family_of_class<M>(family).layout(config).parameter_count();
  });
}

/// Parameter count of a configuration with an encoder, from its layout.
template <class Config, class MakeLayout>
double encoder_count(Config config, MakeLayout&& layout) {
  return std::visit(
      [&](auto& encoder) {
        if constexpr (requires { encoder.local_layers; }) encoder.local_layers.clear();  // has a length, no parameters
        return of_layers(encoder.layers, [&](int64_t layers) {
          encoder.layers = layers;
          return layout(config).parameter_count();
        });
      },
      encoder_of(config));
}

constexpr auto head_layout = [](const auto& config) { return hugging_face::headed_layout(config); };

}  // namespace

double parameter_count(const models::GptConfig& c) { return decoder_count<models::Gpt>(hugging_face::gpt_family(), c); }

double parameter_count(const models::LlamaConfig& config) {
  models::LlamaConfig c = config;
  c.window_layers.clear();  // has a length, no parameters
  return decoder_count<models::Llama>(hugging_face::llama_family(), c);
}

double parameter_count(const models::GptNeoXConfig& c) {
  return decoder_count<models::GptNeoX>(hugging_face::gpt_neox_family(), c);
}

double parameter_count(const models::TransformerConfig& config) {
  auto count = [c = config](int64_t layers, int64_t decoder_layers) mutable {
    c.layers = layers, c.decoder_layers = decoder_layers;
    return hugging_face::marian_layout(c).parameter_count();
  };
  return of_layers(config.layers, [&](int64_t layers) { return count(layers, 1); }) +
         of_layers(config.decoder_layers.value_or(config.layers), [&](int64_t layers) { return count(1, layers); }) -
         count(1, 1);
}

double parameter_count(const models::SequenceClassifierConfig& c) { return encoder_count(c, head_layout); }

double parameter_count(const models::TokenClassifierConfig& c) { return encoder_count(c, head_layout); }

double parameter_count(const models::SentenceEncoderConfig& c) {
  double parameters = encoder_count(with_pooler(c.encoder, false), hugging_face::encoder_layout);
  for (const models::SentenceModuleOptions& o : c.modules) {
    const double in = static_cast<double>(o.in), out = static_cast<double>(o.out);
    if (o.kind == models::SentenceModuleKind::layer_norm) parameters += 2 * in;
    if (o.kind != models::SentenceModuleKind::dense) continue;
    parameters += in * out * (o.residual && o.in != o.out ? 2 : 1) + (o.bias ? out : 0);
  }
  return parameters;
}

double parameter_count(const models::EncoderConfig& c) {
  return encoder_count(c, hugging_face::masked_language_model_layout);
}

void check_memory(const char* task, double parameters, const TaskOptions& run, const std::string& root) {
  const int64_t machine = physical_memory(), allowed = cgroup_memory_limit(root).value_or(machine);
  const double each = 4, gradient = run.step_in_backward ? 0 : each;
  const double in_training = each + gradient + (run.moments == optim::MomentDtype::bf16 ? each : 2 * each);
  const double there = static_cast<double>(std::min(machine, allowed));
  if (in_training * parameters <= there) return;
  raise(ErrorKind::out_of_memory, "{}: {:.3e} parameters take {}, with {}Adam's moments {}; {} {}", task, parameters,
        format_bytes(each * parameters), gradient > 0 ? "their gradients and " : "",
        format_bytes(in_training * parameters),
        allowed < machine ? "the control group of this process may use" : "this machine has", format_bytes(there));
}

}  // namespace tape::train
