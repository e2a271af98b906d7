namespace tape::kernels::TAPE_LEVEL {

/// Compiled once a level: where it is, the level's kernels are (isa.cpp).
extern const bool level_present = true;

}  // namespace tape::kernels::TAPE_LEVEL
