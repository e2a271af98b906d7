#include "models/run.h"

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "models/run_inputs.h"
#include "nn/attention/attention_weights.h"
#include "nn/module/hook_scope.h"

namespace tape::models {
namespace {

/// Keeps the hidden states that the layers of a stack give while it is there.
template <class Stack>
class StackOutputs {
 public:
  explicit StackOutputs(Stack& stack) : stack_(stack) {
    for (int64_t i = 0; i < stack.layers.size(); ++i) {
      nn::Module& layer = *stack.layers[i];
      if (i == 0)
        hooks_.forward_pre(layer, [this](nn::Module&, const Tensors& in) {
          states_ = {in.front()};
          return Tensors();
        });
      hooks_.forward(layer, [this](nn::Module&, const Tensors&, const Tensor& out) {
        states_.push_back(out);
        return Tensor();
      });
    }
  }
  StackOutputs(const StackOutputs&) = delete;
  StackOutputs& operator=(const StackOutputs&) = delete;

  /// `last` is what the whole stack gave: the last layer's state, behind a final norm where there is one; undefined
  /// where that state is wanted in front of the norm.
  void write(nn::StateDict& out, const char* prefix, const Tensor& last, const nn::AttentionWeights& weights) {
    for (size_t i = 0; i < states_.size(); ++i)
      out[fmt::format("{}hidden_states.{}", prefix, i)] = i + 1 == states_.size() && last.defined() ? last : states_[i];
    for (int64_t i = 0; i < stack_.layers.size(); ++i) {
      auto& self = stack_.layers[i]->self_attention;
      if constexpr (requires { self.module(); })
        out[fmt::format("{}attentions.{}", prefix, i)] = weights.of(self.module());
      else
        out[fmt::format("{}attentions.{}", prefix, i)] = weights.of(*self);
      if constexpr (requires { stack_.layers[i]->cross_attention; })
        out[fmt::format("cross_attentions.{}", i)] = weights.of(*stack_.layers[i]->cross_attention);
    }
  }

 private:
  Stack& stack_;
  Tensors states_;
  nn::HookScope hooks_;
};

/// What the last call of a module gave.
class LastOutput {
 public:
  explicit LastOutput(nn::Module& module) {
    hook_.forward(module, [this](nn::Module&, const Tensors&, const Tensor& out) {
      last = out;
      return Tensor();
    });
  }

  Tensor last;

 private:
  nn::HookScope hook_;
};

void add_loss(nn::StateDict& out, const Tensor& logits, const Tensor& labels) {
  if (!labels.defined()) return;
  if (!(labels.shape() == logits.shape().slice(0, labels.rank())))
    raise(ErrorKind::shape, "run: labels {} do not fit logits {}", to_string(labels.shape()),
          to_string(logits.shape()));
  out["loss"] = cross_entropy(logits, labels);
}

/// The encoder of a model, which `call` runs: ids, mask, segments -> logits, or undefined. `targets` are the names of
/// further inputs.
template <class Call>
nn::StateDict run_encoder(nn::Module& model, EncoderModel& base, const nn::StateDict& given,
                          const std::set<std::string>& targets, Call&& call) {
  std::set<std::string> known{"input_ids", "attention_mask"};
  if (base.segments() > 0) known.insert("token_type_ids");
  known.insert(targets.begin(), targets.end());
  const RunInputs in(given, known);
  const Tensor ids = in.find("input_ids");
  nn::StateDict out;
  StackOutputs<nn::Encoder> layers(*base.encoder);
  const nn::AttentionWeights weights(model);
  const LastOutput encoder(*base.encoder);
  call(out, in, ids, in.mask("attention_mask", ids), in.find("token_type_ids"));
  out["last_hidden_state"] = encoder.last;
  layers.write(out, "", encoder.last, weights);
  return out;
}

nn::StateDict run_model(EncoderModel& model, const nn::StateDict& given) {
  return run_encoder(
      model, model, given, {},
      [&](nn::StateDict& out, const RunInputs&, const Tensor& ids, const Mask& mask, const Tensor& segments) {
        const Tensor hidden = model(ids, mask, segments);
        if (model.pooler) out["pooler_output"] = model.pool(hidden);
      });
}

/// With a head that says something of each position.
template <class M>
nn::StateDict run_tokens(M& model, const nn::StateDict& given) {
  return run_encoder(
      model, *model.base, given, {"labels"},
      [&](nn::StateDict& out, const RunInputs& in, const Tensor& ids, const Mask& mask, const Tensor& segments) {
        out["logits"] = model(ids, mask, segments);
        add_loss(out, out["logits"], in.find("labels"));
      });
}
nn::StateDict run_model(MaskedLanguageModel& model, const nn::StateDict& given) { return run_tokens(model, given); }
nn::StateDict run_model(TokenClassifier& model, const nn::StateDict& given) { return run_tokens(model, given); }

nn::StateDict run_model(SequenceClassifier& model, const nn::StateDict& given) {
  return run_encoder(
      model, *model.base, given, {"labels"},
      [&](nn::StateDict& out, const RunInputs& in, const Tensor& ids, const Mask& mask, const Tensor& segments) {
        const Tensor labels = in.labels(), logits = model(ids, mask, segments);
        if (labels.defined()) out["loss"] = model.loss(logits, labels);
        out["logits"] = logits;
      });
}

nn::StateDict run_model(QuestionAnswerer& model, const nn::StateDict& given) {
  return run_encoder(
      model, *model.base, given, {"start_positions", "end_positions"},
      [&](nn::StateDict& out, const RunInputs& in, const Tensor& ids, const Mask& mask, const Tensor& segments) {
        const Tensor starts = in.find("start_positions", 1), ends = in.find("end_positions", 1);
        const Tensor logits = model(ids, mask, segments);
        if (starts.defined() != ends.defined())
          raise(ErrorKind::config, "run: \"start_positions\" and \"end_positions\" come together");
        if (starts.defined()) out["loss"] = model.loss(logits, starts, ends);
        out["start_logits"] = select(logits, 2, 0);
        out["end_logits"] = select(logits, 2, 1);
      });
}

/// The input "position_ids" as [B, T], for ids [B, T]; undefined where none are given.
Tensor positions_of(const RunInputs& in, const Tensor& ids) {
  const Tensor positions = in.find("position_ids");
  if (!positions.defined()) return {};
  if (positions.size(1) != ids.size(1) || (positions.size(0) != 1 && positions.size(0) != ids.size(0)))
    raise(ErrorKind::shape, "run: position_ids {} do not fit ids {}", to_string(positions.shape()),
          to_string(ids.shape()));
  return expand_to(positions, ids.shape());
}

nn::StateDict run_model(CausalLM& model, const nn::StateDict& given) {
  const RunInputs in(given, {"input_ids", "attention_mask", "position_ids", "labels"});
  const Tensor ids = in.find("input_ids"), labels = in.find("labels"), positions = positions_of(in, ids);
  nn::StateDict out;
  StackOutputs<nn::Encoder> layers(*model.encoder);
  const nn::AttentionWeights weights(model);
  const LastOutput encoder(*model.encoder);
  const Mask mask = in.mask("attention_mask", ids);
  const Tensor logits =
      positions.defined() ? nn::call_method(model, &CausalLM::at, ids, positions, mask) : model(ids, mask);
  out["logits"] = logits;
  out["last_hidden_state"] = encoder.last;
  layers.write(out, "", encoder.last, weights);
  if (!labels.defined()) return out;
  if (!(labels.shape() == ids.shape()))
    raise(ErrorKind::shape, "run: labels {} do not fit input_ids {}", to_string(labels.shape()),
          to_string(ids.shape()));
  add_loss(out, slice(logits, 1, {.end = -1}), slice(labels, 1, {.start = 1}));
  return out;
}

/// The targets moved one to the right behind the first id; what is ignored becomes padding.
Tensor shifted(const Tensor& labels, const EncoderDecoderOptions& options) {
  const Tensor words = where(eq(labels, -100), full(labels.shape(), options.padding_id, i64), labels);
  Tensor first = full({labels.size(0), 1}, options.bos_id, i64);
  if (options.begins_with_last && labels.size(1) > 0) {
    // As many in as there are words, as transformers counts; of a row of none the last.
    const Tensor length = sum(cast(ne(words, options.padding_id), i64), {1}, Dims::keep);
    first = gather(words, 1, where(eq(length, 0), full(length.shape(), labels.size(1), i64), length) - 1);
  }
  return cat({first, slice(words, 1, {.end = -1})}, 1);
}

nn::StateDict run_model(EncoderDecoder& model, const nn::StateDict& given) {
  const RunInputs in(given, {"input_ids", "attention_mask", "decoder_input_ids", "decoder_attention_mask", "labels"});
  const Tensor ids = in.find("input_ids"), labels = in.find("labels");
  Tensor targets = in.find("decoder_input_ids");
  if (!targets.defined()) {
    if (!labels.defined()) raise(ErrorKind::config, "run: input \"decoder_input_ids\" or \"labels\" is missing");
    targets = shifted(labels, model.options());
  }
  nn::StateDict out;
  StackOutputs<nn::Encoder> encoder_layers(*model.encoder);
  StackOutputs<nn::Decoder> decoder_layers(*model.decoder);
  const nn::AttentionWeights weights(model);
  const LastOutput encoder(*model.encoder), decoder(*model.decoder);
  const Tensor logits = model(ids, targets, in.mask("attention_mask", ids), in.mask("decoder_attention_mask", targets));
  out["logits"] = logits;
  out["encoder_last_hidden_state"] = encoder.last;
  out["last_hidden_state"] = decoder.last;
  encoder_layers.write(out, "encoder_", encoder.last, weights);
  decoder_layers.write(out, "decoder_", decoder.last, weights);
  add_loss(out, logits, labels);
  return out;
}

/// The Vit of a model; `call` runs it on pixels and adds what stands behind it.
template <class Call>
nn::StateDict run_vit(nn::Module& model, Vit& vit, const nn::StateDict& given, bool labelled, Call&& call) {
  std::set<std::string> known{"pixel_values"};
  if (labelled) known.insert("labels");
  const RunInputs in(given, known);
  const Tensor labels = in.labels();
  nn::StateDict out;
  StackOutputs<nn::Encoder> layers(*vit.encoder);
  const nn::AttentionWeights weights(model);
  const LastOutput hidden(*vit.encoder);
  call(out, given.at("pixel_values"), labels);
  out["last_hidden_state"] = hidden.last;
  layers.write(out, "", Tensor(), weights);
  return out;
}

nn::StateDict run_model(Vit& model, const nn::StateDict& given) {
  return run_vit(model, model, given, false, [&](nn::StateDict& out, const Tensor& pixels, const Tensor&) {
    const Tensor hidden = model(pixels);
    if (model.pooler) out["pooler_output"] = model.pool(hidden);
  });
}

nn::StateDict run_model(ImageClassifier& model, const nn::StateDict& given) {
  return run_vit(model, *model.vit, given, true, [&](nn::StateDict& out, const Tensor& pixels, const Tensor& labels) {
    const Tensor logits = model(pixels);
    if (labels.defined()) out["loss"] = model.loss(logits, labels);
    out["logits"] = logits;
  });
}

}  // namespace

nn::StateDict run(const AnyModel& model, const nn::StateDict& inputs, const RunOptions& options) {
  if (options.gradients && !inputs.contains("labels") && !inputs.contains("start_positions"))
    raise(ErrorKind::config, "run: gradients are those of the loss, and there are no \"labels\"");
  std::optional<NoGrad> no_grad;
  if (!options.gradients) no_grad.emplace();
  nn::StateDict out = std::visit([&](const auto& m) { return run_model(*m, inputs); }, model);
  if (options.gradients) {
    nn::Module& module = module_of(model);
    module.zero_grad();
    out.at("loss").backward();
    nn::StateDict gradients;
    for (const NamedTensor& parameter : module.named_parameters())
      gradients[parameter.name] =
          parameter.tensor.grad().defined() ? parameter.tensor.grad() : zeros_like(parameter.tensor);
    for (const auto& [name, gradient] : to_file_names(model, gradients)) out[fmt::format("grad.{}", name)] = gradient;
    module.zero_grad();
  }
  for (auto& [name, tensor] : out) tensor = tensor.detach();
  return out;
}

}  // namespace tape::models
