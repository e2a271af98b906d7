// Inspects the tape: which tensors it saves for which operations, where a tensor comes from, the memory that
// checkpoints save, and second derivatives.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

int main() {
  manual_seed(1);
  nn::Encoder encoder(2, {.d_model = 32, .heads = 4, .d_ff = 128, .dropout = 0.1});
  const Tensor x = randn({8, 16, 32});

  const Trace trace;  // nodes recorded from here on know their module
  const Tensor h = encoder(x), loss = mean(square(h));
  const SavedTensorsReport ledger = saved_tensors(loss);
  std::cout << to_string(ledger, 4) << "\n";
  std::cout << explain(h, {.loss = loss, .names = encoder.named_parameters(), .source = false}) << "\n";

  // The same layers, recomputed in the backward instead of saved.
  Tensor y = x;
  for (int64_t i = 0; i < encoder.layers.size(); ++i)
    y = checkpoint([&encoder, i](const Tensors& in) { return encoder.layers[i](in[0]); }, {y});
  std::cout << "bytes saved with a checkpoint around each layer: " << saved_tensors(mean(square(y))).bytes << "\n";

  // Second derivatives along a direction, without computing the Hessian. The direction is the weight itself here.
  const Tensor weight = encoder.layers[0]->self_attention->query->weight;
  const Hvp curvature = hvp(loss, {weight}, {weight.detach()});
  std::cout << "curvature of the loss along the weight: " << sum(curvature.product[0] * weight.detach()).item() << "\n";
}
