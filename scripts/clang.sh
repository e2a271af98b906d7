# Sourced by the scripts that need clang.

# Versions tested with this project, newest first.
clang_versions=(19 18 17 16)

# newest_clang [FILE...]: prints the newest of these versions that is installed and has these files in its folder.
newest_clang() {
  local version file
  for version in "${clang_versions[@]}"; do
    for file in bin/clang++ "$@"; do
      compgen -G "/usr/lib/llvm-$version/$file" > /dev/null || continue 2
    done
    printf '%s\n' "$version"
    return
  done
  return 1
}

# Files that scripts/fuzz.sh needs: libFuzzer and OpenMP.
fuzzing_clang() { newest_clang 'lib/clang/*/lib/linux/libclang_rt.fuzzer-*' lib/libomp.so; }
