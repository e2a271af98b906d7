// The code in the right column of the tables in docs/guide/from_pytorch.md. check_page looks for each cell here.
#include <gtest/gtest.h>
#include <tapeformer.h>

#include <filesystem>
#include <iostream>

#include "tests/support/temporary_folder.h"

// As in a program of a user, where names of C and of the standard library are visible too.
using namespace tape;

namespace {

struct Net : nn::Layer<Net> {
  nn::Parameter weight{this, "weight", randn({4, 4})};
  nn::Buffer mean{this, "mean", zeros({4})};
  nn::Child<nn::Linear> fc{this, "fc", 4, 4};
  nn::Children<nn::Linear> layers{this, "layers", 2, 4, 4};
  Tensor forward(const Tensor& x) { return fc(x); }
};

/// Changes the working folder while in scope.
struct WorkingFolder {
  explicit WorkingFolder(const std::string& folder) { std::filesystem::current_path(folder); }
  ~WorkingFolder() { std::filesystem::current_path(before); }
  const std::filesystem::path before = std::filesystem::current_path();
};

TEST(FromPyTorch, TensorsCompile) {
  tensor({{1, 2}, {3, 4}});
  zeros({2, 3}), ones({2, 3}), full({2, 3}, 7, i64);
  randn({2, 3}), rand({2, 3}), randint(0, 10, {2, 3});
  Tensor x = randn({2, 3}), y = randn({2, 3}), mask = x > 0;
  randn_like(x), zeros_like(x), randperm(10);
  arange(10), linspace(0, 1, 5), eye(3);
  std::vector<float> values(6);
  from_vector(values, {2, 3});
  x.shape(), x.size(0), x.rank(), x.numel(), x.dtype();
  x.to(f64), x.to(bf16);
  sum(x).item(), x.to_vector<float>();
  x.reshape({3, 2}), x.view({6}), x.flatten();
  x.transpose(0, 1), permute(x, {1, 0});
  x.unsqueeze(0), x.unsqueeze(0).squeeze(0), x.expand({4, 2, 3});
  cat({x, y}, 0), stack({x, y}), split(x, 2, 1);
  x[0], slice(x, 1, {.start = 1, .end = 3});
  x[0].copy_(y[1]);
  EXPECT_TRUE(allclose(x[0], y[1]));
  const Tensor rows = tensor({1}, i64), before = x.clone();
  x = index_put(x, {SliceOptions{}, 0}, zeros({})), x = index_put(x, {rows}, index(x, {rows}) + 1);
  EXPECT_EQ(x[0][0].item(), 0);
  EXPECT_EQ(x[1][0].item(), 1);
  EXPECT_TRUE(allclose(x[1][1], before[1][1] + 1));
  const Tensor ids = tensor({0, 2}, i64);
  index_select(x, 1, ids), gather(x, 1, tensor({{0}, {1}}, i64));
  where(mask, x, y), masked_fill(x, mask, 0);
  (x < 1) & mask, (x < 1) | mask, ~mask;
  matmul(x, transpose(y)), einsum("ij,kj->ik", {x, y});
  const Tensors elementwise{x + y, x * 2, x > y, square(x), pow(x, 2), clamp(x, -1, 1)};
  x += y, x.mul_(2), x.fill_(0), x.copy_(y);
  x.sum(0), x.mean(-1, Dims::keep), x.max(), x.argmax(1);
  x.max(1), x.argmax(1), maximum(x, y);
  topk(x, 2), sort(x), cumsum(x, 0);
  var(x, 1), tape::std(x, 1), norm(x);
}

TEST(FromPyTorch, GradientsCompile) {
  Tensor x = randn({2, 3}).requires_grad_();
  Tensor loss = sum(square(x));
  loss.backward(), x.grad();
  {
    const Tensor y = square(x), g = ones({2, 3});
    y.backward({.gradient = g});
  }
  x.detach(), x.clone();
  loss = sum(square(x));
  const Tensor w = randn({2, 3}).requires_grad_();
  const Tensor gradient = grad(loss, x, {.create_graph = true});
  loss = sum(x * w);
  const Tensors gradients = grad(loss, {x, w});
  EXPECT_TRUE(allclose(gradient, 2 * x) && allclose(gradients[0], w) && allclose(gradients[1], x));
  { const NoGrad no_grad; }
  x.register_hook([](const Tensor& g) { return 2 * g; });
  sum(square(x)).retain_grad();
  gradcheck([](const Tensors& in) { return tanh(in[0]); }, {randn({3}, f64)});
  const auto f = [](const Tensors& in) { return in[0] * in[0]; };
  checkpoint(f, {x});
  { const DetectAnomaly detect_anomaly; }
  hvp(sum(pow(x, 3)), {x}, {ones({2, 3})});
}

TEST(FromPyTorch, ModulesCompile) {
  Net model;
  model.parameters(), model.named_parameters(), model.state_dict();
  model.train(), model.eval(), model.to(f64), model.to(f32);
  model.freeze(), model.unfreeze(), model.zero_grad();
  model.register_forward_hook([](nn::Module&, const Tensors&, const Tensor& output) { return output; });
  std::ostream(nullptr) << model;
  Tensor x = randn({2, 4});
  for (auto& layer : model.layers) x = layer(x);
  nn::Linear linear(4, 8, {.bias = false});
  nn::Conv2d conv(1, 16, 3, {.padding = 1});
  nn::MaxPool2d pool(2);
  nn::Embedding embedding(100, 16, {.padding_index = 0});
  nn::LayerNorm layer_norm(16);
  nn::RMSNorm rms_norm(16);
  nn::BatchNorm2d batch_norm(16);
  nn::GroupNorm group_norm(4, 16);
  nn::Dropout dropout(0.1);
  nn::Sequential net, tanh_net;
  net.add<nn::Linear>(4, 8).add(relu).add<nn::Linear>(8, 4);
  tanh_net.add<nn::Linear>(4, 8).add(tape::tanh);
  nn::MultiHeadAttention attention(16, 4);
  nn::EncoderLayer layer({.d_model = 16, .heads = 4, .d_ff = 64});
  const Tensor q = randn({2, 4, 8, 16});
  scaled_dot_product_attention(q, q, q, {.mask = Mask::causal()});
  nn::init::xavier_uniform_(linear.weight), nn::init::kaiming_normal_(linear.weight);
}

TEST(FromPyTorch, TrainingCompiles) {
  Net model;
  const Tensor logits = randn({2, 3}), target = tensor({0, 2}, i64), x = randn({2, 3}), y = randn({2, 3});
  cross_entropy(logits, target, {.ignore_index = 0, .label_smoothing = 0.1});
  cross_entropy(logits, softmax(y, -1));
  mse_loss(x, y), bce_with_logits_loss(x, rand({2, 3})), kl_div(x, softmax(y, -1));
  softmax(x, -1), log_softmax(x, -1), gelu(x), relu(x), silu(x);
  const Tensors computed{-softplus(-x), matmul(x, transpose(y))};
  EXPECT_EQ(computed.size(), 2U);
  dropout(x, 0.1);
  optim::AdamW adamw(model.parameters(), {.lr = 3e-4, .weight_decay = 0.1});
  optim::Adam adam(model.parameters());
  optim::Sgd sgd(model.parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::AdamW groups({{.parameters = model.fc->parameters(), .lr_factor = 0.1, .weight_decay = 0}});
  optim::Schedule steps(adamw, [](int64_t step) { return step <= 100 ? 3e-4 : 3e-5; });
  EXPECT_EQ(steps.lr_at(101), 3e-5);
  optim::CosineSchedule schedule(adamw, {.warmup = 100, .total = 1000});
  adamw.zero_grad(), adamw.step(), schedule.step();
  optim::clip_grad_norm(model.parameters(), 1.0);
  adamw.state_dict(), adamw.load_state_dict(adamw.state_dict());
  const RandomState state = random_state();
  set_random_state(state);
  manual_seed(1), kernels::set_num_threads(2);
  const MatmulPrecisionScope precision(MatmulPrecision::medium);
}

TEST(FromPyTorch, FilesAndTextsCompile) {
  const TemporaryFolder folder;
  const WorkingFolder inside(folder.path());
  Net model;
  model.save("model.safetensors");
  model.load("model.safetensors");
  model.load("model.safetensors", {.strict = false});
  optim::AdamW adamw(model.parameters());
  save_safetensors("adamw.safetensors", adamw.state_dict());
  adamw.load_state_dict(load_safetensors("adamw.safetensors").tensors);
  if (!devices().gpus.empty()) model.to(cuda), ones({2, 3}, cuda);

  const int64_t examples = 100;
  const auto collate = [](const std::vector<int64_t>& indices) { return from_vector(indices); };
  train::Loader<Tensor> loader({.plan = train::shuffled_batches(examples, 32), .collate = collate});
  for (int step = 0; step < 100; ++step) loader.next();

  const std::vector<std::string> lines{"low low low lower lowest", "new newer newest"};
  const auto trained = text::train_byte_level_bpe(lines, {.vocab_size = 262});
  models::Gpt gpt({.vocab = 262, .d_model = 16, .layers = 1, .heads = 2, .max_length = 32});
  trained->save("mine");
  models::save("mine", gpt);
  const auto loaded = models::load<models::CausalLM>("mine");
  const auto tokenizer = text::load_tokenizer("mine");
  const std::string text = "low new";
  const std::vector<int64_t> ids = tokenizer->encode(text).ids;
  tokenizer->encode(text), tokenizer->decode(ids);
  models::generate(*loaded, {ids}, {.sampling = {.top_k = 50}, .max_new_tokens = 20})[0].tokens;
}

}  // namespace
