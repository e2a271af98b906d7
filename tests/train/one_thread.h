#pragma once

#include "train/memory/machine.h"

namespace tape::train {

/// While in scope, one thread computes: two on a busy machine wait for each other most of the time.
class OneThread {
 public:
  OneThread() { set_threads(1); }
  ~OneThread() { set_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_ = machine().threads;
};

}  // namespace tape::train
