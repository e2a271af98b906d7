// What the C++ fragments of the guide take for granted. fragments.py compiles each after this, in a function of its
// own.
#pragma once

#include "tapeformer.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace tape;

struct Net : nn::Layer<Net> {
  nn::Child<nn::Linear> up{this, "up", 8, 16}, down{this, "down", 16, 8};
  Tensor forward(const Tensor& x) { return down(relu(up(x))); }
};
struct Batch {
  Tensor inputs, targets;
};

struct Given {
  Net model, encoder, decoder;
  Tensor x = ones({4, 8});
  std::string folder;
  std::vector<std::string> texts;
  optim::Adam adam{model.parameters(), {.lr = 1e-3}};
  optim::AdamW adamw{model.parameters(), {.lr = 1e-3}};
  optim::CosineSchedule schedule{adam, {.warmup = 100, .total = 8000}};
  int64_t examples = 1000;
  std::function<Batch(const std::vector<int64_t>&)> make_batch;
  std::function<train::BatchLoss(const Batch&)> learn;
  std::function<train::Evaluation()> evaluate;
  train::Loader<Batch> loader{{.plan = train::shuffled_batches(examples, 32), .collate = make_batch}};
};
