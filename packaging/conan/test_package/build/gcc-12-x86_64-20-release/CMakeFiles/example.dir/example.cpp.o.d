CMakeFiles/example.dir/example.cpp.o: \
 /work/main/packaging/conan/test_package/example.cpp \
 /usr/include/stdc-predef.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/tapeformer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/create.h \
 /usr/include/c++/12/initializer_list \
 /usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/os_defines.h \
 /usr/include/features.h /usr/include/features-time64.h \
 /usr/include/x86_64-linux-gnu/bits/wordsize.h \
 /usr/include/x86_64-linux-gnu/bits/timesize.h \
 /usr/include/x86_64-linux-gnu/sys/cdefs.h \
 /usr/include/x86_64-linux-gnu/bits/long-double.h \
 /usr/include/x86_64-linux-gnu/gnu/stubs.h \
 /usr/include/x86_64-linux-gnu/gnu/stubs-64.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/cpu_defines.h \
 /usr/include/c++/12/pstl/pstl_config.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/number.h \
 /usr/include/c++/12/concepts /usr/include/c++/12/type_traits \
 /usr/include/c++/12/limits /usr/include/c++/12/string \
 /usr/include/c++/12/bits/stringfwd.h \
 /usr/include/c++/12/bits/memoryfwd.h \
 /usr/include/c++/12/bits/char_traits.h \
 /usr/include/c++/12/bits/postypes.h /usr/include/c++/12/cwchar \
 /usr/include/wchar.h \
 /usr/include/x86_64-linux-gnu/bits/libc-header-start.h \
 /usr/include/x86_64-linux-gnu/bits/floatn.h \
 /usr/include/x86_64-linux-gnu/bits/floatn-common.h \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/stddef.h \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/stdarg.h \
 /usr/include/x86_64-linux-gnu/bits/wchar.h \
 /usr/include/x86_64-linux-gnu/bits/types/wint_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/mbstate_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__mbstate_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__FILE.h \
 /usr/include/x86_64-linux-gnu/bits/types/FILE.h \
 /usr/include/x86_64-linux-gnu/bits/types/locale_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__locale_t.h \
 /usr/include/c++/12/compare /usr/include/c++/12/bits/stl_construct.h \
 /usr/include/c++/12/new /usr/include/c++/12/bits/exception.h \
 /usr/include/c++/12/bits/move.h \
 /usr/include/c++/12/bits/stl_iterator_base_types.h \
 /usr/include/c++/12/bits/iterator_concepts.h \
 /usr/include/c++/12/bits/ptr_traits.h \
 /usr/include/c++/12/bits/ranges_cmp.h \
 /usr/include/c++/12/bits/stl_iterator_base_funcs.h \
 /usr/include/c++/12/bits/concept_check.h \
 /usr/include/c++/12/debug/assertions.h /usr/include/c++/12/cstdint \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/stdint.h /usr/include/stdint.h \
 /usr/include/x86_64-linux-gnu/bits/types.h \
 /usr/include/x86_64-linux-gnu/bits/typesizes.h \
 /usr/include/x86_64-linux-gnu/bits/time64.h \
 /usr/include/x86_64-linux-gnu/bits/stdint-intn.h \
 /usr/include/x86_64-linux-gnu/bits/stdint-uintn.h \
 /usr/include/c++/12/bits/allocator.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/c++allocator.h \
 /usr/include/c++/12/bits/new_allocator.h \
 /usr/include/c++/12/bits/functexcept.h \
 /usr/include/c++/12/bits/exception_defines.h \
 /usr/include/c++/12/bits/cpp_type_traits.h \
 /usr/include/c++/12/bits/localefwd.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/c++locale.h \
 /usr/include/c++/12/clocale /usr/include/locale.h \
 /usr/include/x86_64-linux-gnu/bits/locale.h /usr/include/c++/12/iosfwd \
 /usr/include/c++/12/cctype /usr/include/ctype.h \
 /usr/include/x86_64-linux-gnu/bits/endian.h \
 /usr/include/x86_64-linux-gnu/bits/endianness.h \
 /usr/include/c++/12/bits/ostream_insert.h \
 /usr/include/c++/12/bits/cxxabi_forced.h \
 /usr/include/c++/12/bits/stl_iterator.h \
 /usr/include/c++/12/ext/type_traits.h \
 /usr/include/c++/12/bits/stl_function.h \
 /usr/include/c++/12/backward/binders.h \
 /usr/include/c++/12/ext/numeric_traits.h \
 /usr/include/c++/12/bits/stl_algobase.h \
 /usr/include/c++/12/bits/stl_pair.h /usr/include/c++/12/bits/utility.h \
 /usr/include/c++/12/debug/debug.h \
 /usr/include/c++/12/bits/predefined_ops.h \
 /usr/include/c++/12/bits/refwrap.h /usr/include/c++/12/bits/invoke.h \
 /usr/include/c++/12/bits/range_access.h \
 /usr/include/c++/12/bits/basic_string.h \
 /usr/include/c++/12/ext/alloc_traits.h \
 /usr/include/c++/12/bits/alloc_traits.h /usr/include/c++/12/string_view \
 /usr/include/c++/12/bits/functional_hash.h \
 /usr/include/c++/12/bits/hash_bytes.h \
 /usr/include/c++/12/bits/ranges_base.h \
 /usr/include/c++/12/bits/max_size_type.h /usr/include/c++/12/numbers \
 /usr/include/c++/12/bits/string_view.tcc \
 /usr/include/c++/12/ext/string_conversions.h /usr/include/c++/12/cstdlib \
 /usr/include/stdlib.h /usr/include/x86_64-linux-gnu/bits/waitflags.h \
 /usr/include/x86_64-linux-gnu/bits/waitstatus.h \
 /usr/include/x86_64-linux-gnu/sys/types.h \
 /usr/include/x86_64-linux-gnu/bits/types/clock_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/clockid_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/time_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/timer_t.h /usr/include/endian.h \
 /usr/include/x86_64-linux-gnu/bits/byteswap.h \
 /usr/include/x86_64-linux-gnu/bits/uintn-identity.h \
 /usr/include/x86_64-linux-gnu/sys/select.h \
 /usr/include/x86_64-linux-gnu/bits/select.h \
 /usr/include/x86_64-linux-gnu/bits/types/sigset_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__sigset_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_timeval.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_timespec.h \
 /usr/include/x86_64-linux-gnu/bits/pthreadtypes.h \
 /usr/include/x86_64-linux-gnu/bits/thread-shared-types.h \
 /usr/include/x86_64-linux-gnu/bits/pthreadtypes-arch.h \
 /usr/include/x86_64-linux-gnu/bits/atomic_wide_counter.h \
 /usr/include/x86_64-linux-gnu/bits/struct_mutex.h \
 /usr/include/x86_64-linux-gnu/bits/struct_rwlock.h /usr/include/alloca.h \
 /usr/include/x86_64-linux-gnu/bits/stdlib-bsearch.h \
 /usr/include/x86_64-linux-gnu/bits/stdlib-float.h \
 /usr/include/c++/12/bits/std_abs.h /usr/include/c++/12/cstdio \
 /usr/include/stdio.h /usr/include/x86_64-linux-gnu/bits/types/__fpos_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/__fpos64_t.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_FILE.h \
 /usr/include/x86_64-linux-gnu/bits/types/cookie_io_functions_t.h \
 /usr/include/x86_64-linux-gnu/bits/stdio_lim.h \
 /usr/include/x86_64-linux-gnu/bits/stdio.h /usr/include/c++/12/cerrno \
 /usr/include/errno.h /usr/include/x86_64-linux-gnu/bits/errno.h \
 /usr/include/linux/errno.h /usr/include/x86_64-linux-gnu/asm/errno.h \
 /usr/include/asm-generic/errno.h /usr/include/asm-generic/errno-base.h \
 /usr/include/x86_64-linux-gnu/bits/types/error_t.h \
 /usr/include/c++/12/bits/charconv.h \
 /usr/include/c++/12/bits/basic_string.tcc \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/dtype.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/error.h \
 /usr/include/c++/12/cstddef /usr/include/c++/12/stdexcept \
 /usr/include/c++/12/exception /usr/include/c++/12/bits/exception_ptr.h \
 /usr/include/c++/12/bits/cxxabi_init_exception.h \
 /usr/include/c++/12/typeinfo /usr/include/c++/12/bits/nested_exception.h \
 /usr/include/fmt/core.h /usr/include/c++/12/cstring \
 /usr/include/string.h /usr/include/strings.h \
 /usr/include/c++/12/iterator /usr/include/c++/12/bits/stream_iterator.h \
 /usr/include/c++/12/bits/streambuf_iterator.h \
 /usr/include/c++/12/streambuf /usr/include/c++/12/bits/ios_base.h \
 /usr/include/c++/12/ext/atomicity.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/gthr.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h \
 /usr/include/pthread.h /usr/include/sched.h \
 /usr/include/x86_64-linux-gnu/bits/sched.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_sched_param.h \
 /usr/include/x86_64-linux-gnu/bits/cpu-set.h /usr/include/time.h \
 /usr/include/x86_64-linux-gnu/bits/time.h \
 /usr/include/x86_64-linux-gnu/bits/timex.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_tm.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct_itimerspec.h \
 /usr/include/x86_64-linux-gnu/bits/setjmp.h \
 /usr/include/x86_64-linux-gnu/bits/types/struct___jmp_buf_tag.h \
 /usr/include/x86_64-linux-gnu/bits/pthread_stack_min-dynamic.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/atomic_word.h \
 /usr/include/x86_64-linux-gnu/sys/single_threaded.h \
 /usr/include/c++/12/bits/locale_classes.h \
 /usr/include/c++/12/bits/locale_classes.tcc \
 /usr/include/c++/12/system_error \
 /usr/include/x86_64-linux-gnu/c++/12/bits/error_constants.h \
 /usr/include/c++/12/bits/streambuf.tcc \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/half.h \
 /usr/include/c++/12/bit \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/bfloat16.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/options.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/device.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/random.h \
 /usr/include/c++/12/array \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tensor.h \
 /usr/include/c++/12/functional /usr/include/c++/12/tuple \
 /usr/include/c++/12/bits/uses_allocator.h \
 /usr/include/c++/12/bits/std_function.h \
 /usr/include/c++/12/unordered_map \
 /usr/include/c++/12/ext/aligned_buffer.h \
 /usr/include/c++/12/bits/hashtable.h \
 /usr/include/c++/12/bits/hashtable_policy.h \
 /usr/include/c++/12/bits/enable_special_members.h \
 /usr/include/c++/12/bits/node_handle.h \
 /usr/include/c++/12/bits/unordered_map.h \
 /usr/include/c++/12/bits/erase_if.h /usr/include/c++/12/vector \
 /usr/include/c++/12/bits/stl_uninitialized.h \
 /usr/include/c++/12/bits/stl_vector.h \
 /usr/include/c++/12/bits/stl_bvector.h \
 /usr/include/c++/12/bits/vector.tcc /usr/include/c++/12/bits/stl_algo.h \
 /usr/include/c++/12/bits/algorithmfwd.h \
 /usr/include/c++/12/bits/stl_heap.h \
 /usr/include/c++/12/bits/stl_tempbuf.h \
 /usr/include/c++/12/bits/uniform_int_dist.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/memory.h \
 /usr/include/c++/12/memory \
 /usr/include/c++/12/bits/stl_raw_storage_iter.h \
 /usr/include/c++/12/bits/align.h /usr/include/c++/12/bits/unique_ptr.h \
 /usr/include/c++/12/ostream /usr/include/c++/12/ios \
 /usr/include/c++/12/bits/basic_ios.h \
 /usr/include/c++/12/bits/locale_facets.h /usr/include/c++/12/cwctype \
 /usr/include/wctype.h /usr/include/x86_64-linux-gnu/bits/wctype-wchar.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/ctype_base.h \
 /usr/include/x86_64-linux-gnu/c++/12/bits/ctype_inline.h \
 /usr/include/c++/12/bits/locale_facets.tcc \
 /usr/include/c++/12/bits/basic_ios.tcc \
 /usr/include/c++/12/bits/ostream.tcc \
 /usr/include/c++/12/bits/shared_ptr.h \
 /usr/include/c++/12/bits/shared_ptr_base.h \
 /usr/include/c++/12/bits/allocated_ptr.h \
 /usr/include/c++/12/ext/concurrence.h \
 /usr/include/c++/12/bits/shared_ptr_atomic.h \
 /usr/include/c++/12/bits/atomic_base.h \
 /usr/include/c++/12/bits/atomic_lockfree_defines.h \
 /usr/include/c++/12/bits/atomic_wait.h /usr/include/c++/12/climits \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/limits.h \
 /usr/lib/gcc/x86_64-linux-gnu/12/include/syslimits.h \
 /usr/include/limits.h /usr/include/x86_64-linux-gnu/bits/posix1_lim.h \
 /usr/include/x86_64-linux-gnu/bits/local_lim.h \
 /usr/include/linux/limits.h \
 /usr/include/x86_64-linux-gnu/bits/posix2_lim.h \
 /usr/include/x86_64-linux-gnu/bits/xopen_lim.h \
 /usr/include/x86_64-linux-gnu/bits/uio_lim.h /usr/include/unistd.h \
 /usr/include/x86_64-linux-gnu/bits/posix_opt.h \
 /usr/include/x86_64-linux-gnu/bits/environments.h \
 /usr/include/x86_64-linux-gnu/bits/confname.h \
 /usr/include/x86_64-linux-gnu/bits/getopt_posix.h \
 /usr/include/x86_64-linux-gnu/bits/getopt_core.h \
 /usr/include/x86_64-linux-gnu/bits/unistd_ext.h \
 /usr/include/linux/close_range.h /usr/include/syscall.h \
 /usr/include/x86_64-linux-gnu/sys/syscall.h \
 /usr/include/x86_64-linux-gnu/asm/unistd.h \
 /usr/include/x86_64-linux-gnu/asm/unistd_64.h \
 /usr/include/x86_64-linux-gnu/bits/syscall.h \
 /usr/include/c++/12/bits/std_mutex.h \
 /usr/include/c++/12/backward/auto_ptr.h \
 /usr/include/c++/12/bits/ranges_uninitialized.h \
 /usr/include/c++/12/bits/ranges_algobase.h \
 /usr/include/c++/12/bits/uses_allocator_args.h \
 /usr/include/c++/12/pstl/glue_memory_defs.h \
 /usr/include/c++/12/pstl/execution_defs.h /usr/include/c++/12/utility \
 /usr/include/c++/12/bits/stl_relops.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ref.h \
 /usr/include/c++/12/atomic \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/non_copyable.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/print.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/shape.h \
 /usr/include/c++/12/span \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/custom.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/op.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/formula.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/tape.h \
 /usr/include/c++/12/map /usr/include/c++/12/bits/stl_tree.h \
 /usr/include/c++/12/bits/stl_map.h \
 /usr/include/c++/12/bits/stl_multimap.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/attributes.h \
 /usr/include/c++/12/optional /usr/include/c++/12/variant \
 /usr/include/c++/12/bits/parse_numbers.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/backward.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/observer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/packed_tensor.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/saved_tensor_hooks.h \
 /usr/include/c++/12/any \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/scoped_value.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/scope.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/kernels/product/matmul_precision.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/trace.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/devices.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/diagnose/anomaly.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/diagnose/profile.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/diagnose/tape_values.h \
 /usr/include/c++/12/deque /usr/include/c++/12/bits/stl_deque.h \
 /usr/include/c++/12/bits/deque.tcc \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/distributions.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/gradcheck/gradcheck.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/named_tensor.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/gradcheck/report.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/gradcheck/registered.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/io/npy.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/io/safetensors.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/file.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/kernels/runtime/common/threads.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/mask.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/attention/attention.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/attention/heads.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/attention/rotary.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/convolution/convolution.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/convolution/spatial.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/convolution/pooling.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/activation.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/arithmetic.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/cast.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/compare.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/dropout.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/exponential.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/masked.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/promote.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/rounding.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/trigonometry.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/elementwise/unary.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/index/index.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/index/indexing.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/shape/shape.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/index/order.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/index/scatter.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/linalg.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/reduce/reduce.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/loss/ctc_loss.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/loss/loss_reduction.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/loss/embedding_loss.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/loss/linear_cross_entropy.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/loss/loss.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/loss/probability_loss.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/loss/regression_loss.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/norm/batch_norm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/norm/group_norm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/norm/gumbel_softmax.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/norm/norm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/norm/softmax.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/product/einsum.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/product/linear_max.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/product/matmul.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/product/packed_weight.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/kernels/product/int8_rows.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/kernels/runtime/common/isa.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/reduce/counting.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/reduce/product.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/reduce/scan.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/reduce/statistics.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/shape/diagonal.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/shape/join.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/shape/pad.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/shape/repeat.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/attention/attention_call.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/host_fallbacks.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/eager_grad_accumulation.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/transforms/checkpoint.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/transforms/derivatives.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/transforms/jacobian.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/transforms/per_sample.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/transforms/rematerialize.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/terminal.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/attention_probe.h \
 /usr/include/c++/12/set /usr/include/c++/12/bits/stl_set.h \
 /usr/include/c++/12/bits/stl_multiset.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/module/module.h \
 /usr/include/c++/12/unordered_set \
 /usr/include/c++/12/bits/unordered_set.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/attention_text.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/explorer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/frames.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/activations.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/module/hook_scope.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/study.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoders/causal_lm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/embedding/embeddings.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/dropout.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/module/child.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/norm/layer_norm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/embedding/embedding.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/encoder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/attention/relative_bias.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/layer_checkpoints.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/transformer_layer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/attention/attention.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/linear.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/lora.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/norm/rms_norm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/position/rotary.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/position/positions.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/position/rotary_scaling.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/attention/key_value_cache.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/attention/disentangled_attention.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/identity.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/module/choice.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/feed_forward.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/activation.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/gated_feed_forward.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/residual.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/heads.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoding/search_defaults.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoder_decoders/encoder_decoder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/position/positional_encoding.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/decoder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/heads/masked_language_model.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/encoder_config.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/bert.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/encoder_model.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/deberta.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/distilbert.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/modern_bert.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/mpnet.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoders/roberta.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/heads/question_answerer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/heads/sequence_classifier.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/heads/classification_loss.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/heads/token_classifier.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/vision/vit.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/embedding/patch_embeddings.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/convolution.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/nudges.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/patching.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/chrome_trace.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/dot.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/explain.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/heat_map.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/inspected_model.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/folders/folder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoding/target_start.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/families.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoders/gpt.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoders/gpt_neox.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoders/llama.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoder_decoders/bart.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoder_decoders/t5.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoder_decoders/transformer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/folders/any_model.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/folders/layout.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/saved_tensors.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/inspect/tape_dot.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/adapters/adapter_folder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/adapters.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoding/beam.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoding/generate.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoding/sampling.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoding/greedy.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/decoding/text_streamer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/stream_decoder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoder_decoders/alignment.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoder_decoders/translate.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/encoder_decoders/translator.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/load_tokenizer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/language_kind.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/config.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/added_tokens.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/token_table.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/trie.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/flat_map.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/json_entry.h \
 /usr/include/nlohmann/json_fwd.hpp \
 /usr/include/nlohmann/detail/abi_macros.hpp \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/gguf/export.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/gguf/gguf.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/gguf/import.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/heads/classify.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/heads/label_words.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/word_ids.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/packed_values.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/onnx/export.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/onnx/onnx.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/run.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/sentence/sentence_encoder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/sentence/sentence_modules.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/attention/attention_steps.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/attention/attention_weights.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/attention/relative_attention.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/gradcheck/check.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/gradcheck/gradcheck.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/gradcheck/check_registered.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/init.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/module/per_sample.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/module/print.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/module/training_mode.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/norm/batch_norm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/norm/group_norm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/position/alibi.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/sequential.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/nn/transformer/pooling.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/optim/adam.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/ops/kernel_call.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/device_checks.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/kernels/runtime/common/finding.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/optim/optimizer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/optim/adamw.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/optim/clip.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/optim/schedule.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/optim/sgd.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/optim/step_in_backward.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/autograd/tape/leaf_hooks.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/batch_plan.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/bleu.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/byte_level_bpe.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/pipeline.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/decoder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/pattern.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/model.h \
 /usr/include/c++/12/mutex /usr/include/c++/12/bits/chrono.h \
 /usr/include/c++/12/ratio /usr/include/c++/12/ctime \
 /usr/include/c++/12/bits/unique_lock.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/normalizer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/pre_tokenizer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/table_tokenizer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizers/word_models.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/characters.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/text_reader.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/utf8_file.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/chat_template.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/chrf.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/corpus.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/long_list.h \
 /usr/include/c++/12/algorithm /usr/include/c++/12/bits/ranges_algo.h \
 /usr/include/c++/12/bits/ranges_util.h \
 /usr/include/c++/12/pstl/glue_algorithm_defs.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/base/temporary_file.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/record_reader.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/line_reader.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/fairseq.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/mapped_sentence_piece.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/labeled.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/label_names.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/labeled_words.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/language_pipeline.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/marian.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/number_words.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/piece_tokenizer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/sentence_piece.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/tokenizer_json.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/train_byte_level_bpe.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/train_sentence_piece.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/word_piece.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/checkpoints/average.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/checkpoints/checkpoint.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/trainer/loader.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/checkpoints/manifest.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/distributed/distributed.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/distributed/bucket.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/distributed/communicator.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/distributed/optimizer_slices.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/distributed/sharded_parameters.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/distributed/world.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/doctor/doctor.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/trainer/trainer.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/runs/events.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/runs/run_folder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/runs/output_folder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/runs/progress.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/tasks/classification.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/init/adapter_training.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/models/adapters/part.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/tasks/task.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/init/trained_parameters.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/tasks/embedding.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/tasks/language_model.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/data/text_source.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/text/documents.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/init/decoder_model.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/init/pretrained_decoder.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/tasks/masked_lm.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/tasks/token_classification.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/tasks/translation.h \
 /root/h/port/conan_home/p/b/tapef8153051c445c9/p/include/tapeformer/train/data/parallel_files.h \
 /usr/include/c++/12/iostream /usr/include/c++/12/istream \
 /usr/include/c++/12/bits/istream.tcc
