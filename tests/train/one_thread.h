#pragma once

#include "train/memory/machine.h"

namespace tape::train {

/// Computes with one thread while in scope: on a busy machine two spend most of their time waiting for each other.
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
