#pragma once

// Component inspect: pages, pictures and tables of gradients.
#include "inspect/attention_probe.h"
#include "inspect/attention_text.h"
#include "inspect/chrome_trace.h"
#include "inspect/dot.h"
#include "inspect/explain.h"
#include "inspect/explorer.h"
#include "inspect/heat_map.h"
#include "inspect/inspected_model.h"
#include "inspect/nudges.h"
#include "inspect/patching.h"
#include "inspect/saved_tensors.h"
#include "inspect/study.h"
#include "inspect/tape_dot.h"
