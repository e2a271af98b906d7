#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../trainer/trainer.h"

namespace tape::train {

struct DoctorOptions {
  int64_t steps = 100;                        ///< on the one batch
  std::optional<double> lr = {};              ///< the schedule's largest within total_steps, or the optimizer's
  const optim::Schedule* schedule = nullptr;  ///< of the run, for advice on its warm-up
  int64_t total_steps = 0;                    ///< of the run
  double label_smoothing = 0;                 ///< of the loss
  int64_t classes = 0;                        ///< V, for the floor of the smoothed loss
  double clip_norm = 1;                       ///< 0: no clipping
};

/// What overfitting one batch showed.
struct Diagnosis {
  bool can_learn = false;
  double first_loss = 0;
  double last_loss = 0;
  double floor = 0;                        ///< the least that the loss can be
  std::vector<std::string> no_gradient;    ///< trainable parameters that no gradient reached
  std::vector<std::string> zero_gradient;  ///< those whose gradient was zero in every step looked at
  std::vector<std::string> dead;           ///< "encoder.layers.0.feed_forward: relu: 60 of 64 units are always 0"
  std::vector<std::string> lines;          ///< the report in words, the verdict last
};

/// The least cross-entropy with label smoothing s over V classes, which a model that knows every answer has: the
/// entropy of the smoothed targets, -(1 - s + s/V) log(1 - s + s/V) - (V - 1) s/V log(s/V).
double smoothed_floor(double label_smoothing, int64_t classes);

/// What the cross-entropy of a task can be.
struct LossScale {
  int64_t classes = 0;         ///< V: guessing costs log(V); 0: not known
  double label_smoothing = 0;  ///< of the training loss: it is at least smoothed_floor()
};

/// Trains on one batch again and again, without dropout, to see whether the set-up can learn at all. Model, optimizer
/// and random streams are as before afterwards. Error (config) for options that make no sense.
Diagnosis overfit_one_batch(nn::Module& model, optim::Optimizer& optimizer, const std::function<Learned()>& learn,
                            const DoctorOptions& options = {});

/// The same with the next batch of a loader, which stays where it is.
template <class Batch, class Learn>
Diagnosis overfit_one_batch(nn::Module& model, optim::Optimizer& optimizer, Loader<Batch>& loader, Learn&& learn,
                            const DoctorOptions& options = {}) {
  const DataPosition position = loader.position();
  const Batch batch = loader.next();
  loader.seek(position);
  return overfit_one_batch(
      model, optimizer, [&]() -> Learned { return learn(batch); }, options);
}

}  // namespace tape::train
