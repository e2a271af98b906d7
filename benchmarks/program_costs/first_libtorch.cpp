// README's first program in libtorch.
#include <torch/torch.h>

#include <iostream>

struct GptImpl : torch::nn::Module {
  torch::nn::Embedding tokens{10, 32}, positions{16, 32};
  torch::nn::TransformerEncoder encoder{torch::nn::TransformerEncoderOptions(
      torch::nn::TransformerEncoderLayerOptions(32, 4).dim_feedforward(128).dropout(0), 2)};
  torch::nn::Linear head{32, 10};
  GptImpl() {
    register_module("tokens", tokens);
    register_module("positions", positions);
    register_module("encoder", encoder);
    register_module("head", head);
  }
  torch::Tensor forward(const torch::Tensor& ids) {  // [B, T] -> [B, T, V]
    const auto t = ids.size(1);
    const auto x = (tokens(ids) + positions(torch::arange(t))).transpose(0, 1);
    const auto mask = torch::full({t, t}, -INFINITY).triu(1);
    return head(encoder(x, mask).transpose(0, 1));
  }
};
TORCH_MODULE(Gpt);

int main() {
  torch::manual_seed(1);
  Gpt model;
  torch::optim::AdamW adamw(model->parameters(), torch::optim::AdamWOptions(3e-3));
  for (int step = 1; step <= 200; ++step) {
    const auto ids = torch::remainder(torch::randint(0, 10, {16, 1}) + torch::arange(17), 10).to(torch::kLong);
    const auto logits = model(ids.slice(1, 0, 16));
    const auto loss = torch::nn::functional::cross_entropy(logits.reshape({-1, 10}), ids.slice(1, 1).reshape({-1}));
    adamw.zero_grad();
    loss.backward();
    adamw.step();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item<float>() << "\n";
  }
  std::cout << "7 8 9 -> " << model(torch::tensor({{7, 8, 9}})).argmax(-1)[0][2].item<int64_t>() << "\n";
}
