// Trains a vision Transformer to recognize handwritten digits from an archive that NumPy wrote. An image of 8 x 8
// pixels is 16 patches of 2 x 2. 1,500 images are for training, the other 297 for validation.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

constexpr int64_t train_images = 1500, batch_size = 50;

struct Batch {
  Tensor pixels, labels;
};

int main(int argc, char** argv) {
  const std::string archive = argc > 1 ? argv[1] : "examples/2_training/digits.npz";
  manual_seed(2);
  const auto arrays = load_npz(archive);
  // [N, 8, 8] of 0 to 16 -> [N, 1, 8, 8] of -1 to 1.
  // The images are sorted by writer. Shuffling puts every writer into both parts.
  const Tensor mixed = randperm(arrays.at("labels").size(0));
  const Tensor pixels = index_select(unsqueeze(cast(arrays.at("images"), f32) / 8 - 1, 1), 0, mixed);
  const Tensor labels = index_select(cast(arrays.at("labels"), i64), 0, mixed);

  models::ImageClassifier model({.vit = {.image_size = {8},
                                         .patch_size = {2},
                                         .channels = 1,
                                         .d_model = 64,
                                         .layers = 4,
                                         .heads = 4,
                                         .d_ff = 128,
                                         .dropout = 0.1,
                                         .init_std = 0.1},
                                 .num_labels = 10});

  const auto collate = [&](const std::vector<int64_t>& indices) -> Batch {
    const Tensor chosen = from_vector(indices);
    return {index_select(pixels, 0, chosen), index_select(labels, 0, chosen)};
  };
  const auto learn = [&](const Batch& batch) -> train::BatchLoss {
    return {cross_entropy(model(batch.pixels), batch.labels, {.label_smoothing = 0.1}), batch.labels.numel()};
  };
  const Tensor held_out = slice(pixels, 0, {.start = train_images}),
               expected = slice(labels, 0, {.start = train_images});
  const auto evaluate = [&]() -> train::Evaluation {
    const Tensor logits = model(held_out);
    const double share = mean(cast(eq(argmax(logits, -1), expected), f32)).item();
    return {.loss = cross_entropy(logits, expected).item(), .metrics = {{"accuracy", share}}, .score = share};
  };

  const int64_t steps = 20 * train_images / batch_size;
  optim::AdamW optimizer(model.parameters(), {.lr = 2e-3, .weight_decay = 0.05});
  optim::CosineSchedule schedule(optimizer, {.warmup = steps / 10, .total = steps});
  train::Loader<Batch> loader({.plan = train::shuffled_batches(train_images, batch_size), .collate = collate});
  train::Trainer trainer(model, optimizer,
                         {.out = "runs/digits",
                          .start = train::Start::overwrite,
                          .steps = steps,
                          .schedule = &schedule,
                          .clip_norm = 1,
                          .evaluate_every = steps,
                          .save_model = [&](const std::string& folder) { models::save(folder, model); }});
  const train::TrainResult result = trainer.fit(loader, learn, evaluate);

  // For `tapeformer inspect --model runs/digits --image runs/digits/digit.npy --out digit.html`.
  save_npy("runs/digits/digit.npy", select(held_out, 0, 0));
  const double accuracy = result.evaluation->metrics.at("accuracy");
  std::cout << model.parameter_count() << " parameters\n"
            << "accuracy: " << (accuracy > 0.95 ? "over 95%" : "95% or less") << "\n";
  return accuracy > 0.95 ? 0 : 1;
}
