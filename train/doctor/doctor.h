#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../trainer/trainer.h"

namespace tape::train {

/// Options of overfit_one_batch().
struct DoctorOptions {
  int64_t steps = 100;                        ///< number of steps on the one batch
  std::optional<double> lr = {};              ///< default: the schedule's peak within total_steps, or the optimizer's
  const optim::Schedule* schedule = nullptr;  ///< the run's schedule, for advice on its warm-up
  int64_t total_steps = 0;                    ///< length of the run in steps
  double label_smoothing = 0;                 ///< label smoothing of the loss
  int64_t classes = 0;                        ///< V, for the minimum of the smoothed loss
  double clip_norm = 1;                       ///< 0: no clipping
};

/// Result of overfitting one batch.
struct Diagnosis {
  bool can_learn = false;  ///< whether all values stayed finite and the loss fell at least half way to floor
  double first_loss = 0;   ///< loss of the first step; NaN if it was not finite
  double last_loss = 0;    ///< loss of the last step; NaN if one was not finite
  double floor = 0;        ///< minimum of the loss
  std::vector<std::string> no_gradient;    ///< trainable parameters that received no gradient
  std::vector<std::string> zero_gradient;  ///< those whose gradient was zero in every observed step
  std::vector<std::string> dead;           ///< "encoder.layers.0.feed_forward: relu: 60 of 64 units are always 0"
  std::vector<std::string> lines;          ///< the report as text, the verdict last
};

/// Minimum of the cross-entropy with label smoothing s over V classes, reached by a model that knows every answer: the
/// entropy of the smoothed targets, -(1 - s + s/V) log(1 - s + s/V) - (V - 1) s/V log(s/V).
double smoothed_floor(double label_smoothing, int64_t classes);

/// Bounds of a task's cross-entropy.
struct LossBounds {
  int64_t classes = 0;         ///< V: random guessing has loss log(V); 0: unknown
  double label_smoothing = 0;  ///< of the training loss, whose minimum is smoothed_floor()
};

/// Trains on one batch repeatedly, without dropout, to see whether the setup can learn at all. Restores model,
/// optimizer and random streams. Throws Error (config) for invalid options.
Diagnosis overfit_one_batch(nn::Module& model, optim::Optimizer& optimizer, const std::function<BatchLoss()>& learn,
                            const DoctorOptions& options = {});

/// The same with the next batch of a loader, whose position does not change.
template <class Batch, class Learn>
Diagnosis overfit_one_batch(nn::Module& model, optim::Optimizer& optimizer, Loader<Batch>& loader, Learn&& learn,
                            const DoctorOptions& options = {}) {
  const DataPosition position = loader.position();
  const Batch batch = loader.next();
  loader.seek(position);
  return overfit_one_batch(
      model, optimizer, [&]() -> BatchLoss { return learn(batch); }, options);
}

}  // namespace tape::train
