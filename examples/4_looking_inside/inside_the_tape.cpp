// Looking inside the tape: what it keeps and for whom, where a tensor comes from, and what a checkpoint saves.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

int main() {
  manual_seed(1);
  nn::Encoder encoder(2, {.d_model = 32, .heads = 4, .d_ff = 128, .dropout = 0.1});
  const Tensor x = randn({8, 16, 32});

  const Trace trace;  // from here on, nodes know their module
  const Tensor h = encoder(x), loss = mean(square(h));
  const SavedTensorsReport ledger = saved_tensors(loss);
  std::cout << to_string(ledger, 4) << "\n";
  std::cout << explain(h, {.loss = loss, .names = encoder.named_parameters(), .source = false}) << "\n";

  // The same layers, run a second time in the backward instead of kept.
  Tensor y = x;
  for (int64_t i = 0; i < encoder.layers.size(); ++i)
    y = checkpoint([&encoder, i](const Tensors& in) { return encoder.layers[i](in[0]); }, {y});
  std::cout << "bytes kept with a checkpoint around each layer: " << saved_tensors(mean(square(y))).bytes << "\n";

  // Second derivatives along a direction, without the Hessian: here the direction is the weight itself.
  const Tensor weight = encoder.layers[0]->self_attention->query->weight;
  const Hvp curvature = hvp(loss, {weight}, {weight.detach()});
  std::cout << "curvature of the loss along a weight: " << sum(curvature.product[0] * weight.detach()).item() << "\n";
}
