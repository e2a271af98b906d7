#include "models/run.h"

#include <set>
#include <string>

#include <fmt/format.h>

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
#include "nn/attention/attention_weights.h"
#include "nn/module/hook_scope.h"

namespace tape::models {
namespace {

/// Inputs of one run, checked when requested.
class RunInputs {
 public:
  RunInputs(const nn::StateDict& given, const std::set<std::string>& known) : given_(given) {
    std::string names;
    for (const std::string& name : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    for (const auto& [name, tensor] : given)
      if (!known.contains(name))
        raise(ErrorKind::config, "run: unknown input \"{}\"; this model takes {}", name, names);
    for (const char* needed : {"input_ids", "pixel_values"})
      if (known.contains(needed) && !given.contains(needed))
        raise(ErrorKind::config, "run: input \"{}\" is missing", needed);
  }

  /// Undefined if it was not given.
  Tensor find(const std::string& name, int64_t rank = 2) const {
    const auto found = given_.find(name);
    if (found == given_.end()) return {};
    const Tensor& tensor = found->second;
    if (!is_integral(tensor.dtype()))
      raise(ErrorKind::dtype, "run: {} must be integers (I64, I32 or U8), got {}", name, to_string(tensor.dtype()));
    if (tensor.rank() != rank)
      raise(ErrorKind::shape, "run: {} must be {}, got {}", name, rank == 1 ? "[B]" : "[B, T]",
            to_string(tensor.shape()));
    return tensor.to(i64);
  }

  /// Labels of whole texts, which may be floating-point; undefined if none were given.
  Tensor labels() const {
    const auto found = given_.find("labels");
    if (found == given_.end() || is_floating(found->second.dtype()))
      return found == given_.end() ? Tensor() : found->second;
    return find("labels", found->second.rank() == 2 ? 2 : 1);
  }

  /// Hides positions where the mask of that name is 0; it must have the shape of the ids.
  Mask mask(const std::string& name, const Tensor& ids) const {
    const Tensor seen = find(name);
    if (!seen.defined()) return {};
    if (!(seen.shape() == ids.shape()))
      raise(ErrorKind::shape, "run: {} {} does not match ids {}", name, to_string(seen.shape()),
            to_string(ids.shape()));
    return Mask::padding(seen, 0);
  }

 private:
  const nn::StateDict& given_;
};

/// Records the hidden states of a stack's layers while in scope.
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

  /// `last` is the output of the whole stack: the last layer's state, after a final norm if there is one. Undefined
  /// requests the state before the norm.
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

/// Records the output of a module's last call.
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
    raise(ErrorKind::shape, "run: labels {} do not match logits {}", to_string(labels.shape()),
          to_string(logits.shape()));
  out["loss"] = cross_entropy(logits, labels);
}

/// Runs `call` and records the hidden states of this stack's layers; `last`: whether the last state is taken after the
/// final norm.
template <class Call>
Tensor run_stack(nn::Module& model, nn::Encoder& stack, nn::StateDict& out, bool last, Call&& call) {
  StackOutputs<nn::Encoder> layers(stack);
  const nn::AttentionWeights weights(model);
  const LastOutput encoder(stack);
  Tensor given = call();
  out["last_hidden_state"] = encoder.last;
  layers.write(out, "", last ? encoder.last : Tensor(), weights);
  return given;
}

/// Runs an encoder with or without a head. `take` adds the head's outputs, given outputs, inputs and the model's
/// result; `targets` are the names of further inputs.
template <class M, class Take>
nn::StateDict run_encoder(M& model, EncoderModel& base, const nn::StateDict& given,
                          const std::set<std::string>& targets, Take&& take) {
  std::set<std::string> known{"input_ids", "attention_mask"};
  if (base.segments() > 0) known.insert("token_type_ids");
  known.insert(targets.begin(), targets.end());
  const RunInputs in(given, known);
  const Tensor ids = in.find("input_ids");
  nn::StateDict out;
  take(out, in, run_stack(model, *base.encoder, out, true, [&] {
         return model(ids, in.mask("attention_mask", ids), in.find("token_type_ids"));
       }));
  return out;
}

nn::StateDict run_model(EncoderModel& model, const nn::StateDict& given) {
  return run_encoder(model, model, given, {}, [&](nn::StateDict& out, const RunInputs&, const Tensor& hidden) {
    if (model.pooler) out["pooler_output"] = model.pool(hidden);
  });
}

/// Runs an encoder with a head at each position.
template <class M>
nn::StateDict run_tokens(M& model, const nn::StateDict& given) {
  return run_encoder(model, *model.base, given, {"labels"},
                     [&](nn::StateDict& out, const RunInputs& in, const Tensor& logits) {
                       out["logits"] = logits;
                       add_loss(out, logits, in.find("labels"));
                     });
}
nn::StateDict run_model(MaskedLanguageModel& model, const nn::StateDict& given) { return run_tokens(model, given); }
nn::StateDict run_model(TokenClassifier& model, const nn::StateDict& given) { return run_tokens(model, given); }

nn::StateDict run_model(SequenceClassifier& model, const nn::StateDict& given) {
  return run_encoder(model, *model.base, given, {"labels"},
                     [&](nn::StateDict& out, const RunInputs& in, const Tensor& logits) {
                       const Tensor labels = in.labels();
                       if (labels.defined()) out["loss"] = model.loss(logits, labels);
                       out["logits"] = logits;
                     });
}

nn::StateDict run_model(QuestionAnswerer& model, const nn::StateDict& given) {
  return run_encoder(model, *model.base, given, {"start_positions", "end_positions"},
                     [&](nn::StateDict& out, const RunInputs& in, const Tensor& logits) {
                       const Tensor starts = in.find("start_positions", 1), ends = in.find("end_positions", 1);
                       if (starts.defined() != ends.defined())
                         raise(ErrorKind::config, "run: \"start_positions\" requires \"end_positions\" and vice versa");
                       if (starts.defined()) out["loss"] = model.loss(logits, starts, ends);
                       out["start_logits"] = select(logits, 2, 0);
                       out["end_logits"] = select(logits, 2, 1);
                     });
}

/// The input "position_ids" as [B, T], for ids [B, T]; undefined if not given.
Tensor positions_of(const RunInputs& in, const Tensor& ids) {
  const Tensor positions = in.find("position_ids");
  if (!positions.defined()) return {};
  if (positions.size(1) != ids.size(1) || (positions.size(0) != 1 && positions.size(0) != ids.size(0)))
    raise(ErrorKind::shape, "run: position_ids {} do not match ids {}", to_string(positions.shape()),
          to_string(ids.shape()));
  return expand_to(positions, ids.shape());
}

nn::StateDict run_model(CausalLM& model, const nn::StateDict& given) {
  const RunInputs in(given, {"input_ids", "attention_mask", "position_ids", "labels"});
  const Tensor ids = in.find("input_ids"), labels = in.find("labels"), positions = positions_of(in, ids);
  nn::StateDict out;
  const Tensor logits = run_stack(model, *model.encoder, out, true, [&] {
    const Mask mask = in.mask("attention_mask", ids);
    return positions.defined() ? nn::call_method(model, &CausalLM::at, ids, positions, mask) : model(ids, mask);
  });
  out["logits"] = logits;
  if (!labels.defined()) return out;
  if (!(labels.shape() == ids.shape()))
    raise(ErrorKind::shape, "run: labels {} do not match input_ids {}", to_string(labels.shape()),
          to_string(ids.shape()));
  add_loss(out, slice(logits, 1, {.end = -1}), slice(labels, 1, {.start = 1}));
  return out;
}

/// The targets shifted right by one after the first id; ignored labels become padding.
Tensor shifted(const Tensor& labels, const EncoderDecoderOptions& options) {
  const Tensor words = where(eq(labels, -100), full(labels.shape(), options.padding_id, i64), labels);
  Tensor first = full({labels.size(0), 1}, options.bos_id, i64);
  if (options.wraps_last_token && labels.size(1) > 0) {
    // The last token is at index count - 1, as in transformers; for an empty row, take the last column.
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

nn::StateDict run_model(Vit& model, const nn::StateDict& given) {
  const RunInputs in(given, {"pixel_values"});
  nn::StateDict out;
  const Tensor hidden = run_stack(model, *model.encoder, out, false, [&] { return model(given.at("pixel_values")); });
  if (model.pooler) out["pooler_output"] = model.pool(hidden);
  return out;
}

nn::StateDict run_model(ImageClassifier& model, const nn::StateDict& given) {
  const Tensor labels = RunInputs(given, {"pixel_values", "labels"}).labels();
  nn::StateDict out;
  out["logits"] = run_stack(model, *model.vit->encoder, out, false, [&] { return model(given.at("pixel_values")); });
  if (labels.defined()) out["loss"] = model.loss(out["logits"], labels);
  return out;
}

}  // namespace

nn::StateDict run(const AnyModel& model, const nn::StateDict& inputs, const RunOptions& options) {
  if (options.gradients && !inputs.contains("labels") && !inputs.contains("start_positions"))
    raise(ErrorKind::config, "run: gradients of the loss require \"labels\"");
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
