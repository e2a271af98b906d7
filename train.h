#pragma once

// Component train: training loops, tasks, checkpoints.
#include "train/checkpoints/average.h"
#include "train/checkpoints/checkpoint.h"
#include "train/distributed/distributed.h"
#include "train/distributed/world.h"
#include "train/doctor/doctor.h"
#include "train/runs/progress.h"
#include "train/runs/run_folder.h"
#include "train/tasks/classification.h"
#include "train/tasks/embedding.h"
#include "train/tasks/language_model.h"
#include "train/tasks/masked_lm.h"
#include "train/tasks/token_classification.h"
#include "train/tasks/translation.h"
#include "train/trainer/loader.h"
#include "train/trainer/trainer.h"
