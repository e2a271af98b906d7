namespace tape::kernels::TAPE_LEVEL {

/// Compiled once per level; its presence shows that the build has the level's kernels (isa.cpp).
extern const bool level_present = true;

}  // namespace tape::kernels::TAPE_LEVEL
