#pragma once

// Component inspect: pages, pictures and tables of gradients.
#include "inspect/chrome_trace.h"
#include "inspect/experiments/attention_probe.h"
#include "inspect/experiments/inspected_model.h"
#include "inspect/experiments/nudges.h"
#include "inspect/experiments/patching.h"
#include "inspect/experiments/study.h"
#include "inspect/explain.h"
#include "inspect/explorer/explorer.h"
#include "inspect/pictures/attention_text.h"
#include "inspect/pictures/dot.h"
#include "inspect/pictures/heat_map.h"
#include "inspect/pictures/tape_dot.h"
#include "inspect/saved_tensors.h"
