// What CUDA C adds to C++: qualifiers, vector types, barriers, warp collectives, atomics.
//
// Functions that take a pointer are instrumented like the kernel itself, so what they touch is
// checked too.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __managed__ __lazyarr_sim_has_no_managed_memory__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __restrict __restrict__

#define __CUDACC__ 1
#define __CUDA_ARCH__ 700
#define LAZYARR_SIM 1

static const int warpSize = 32;

// ---- vector types --------------------------------------------------------------------------

#define __SIM_VECTOR(T, N, A2, A4)                                                             \
  struct N##1 { T x; };                                                                        \
  struct alignas(A2) N##2 { T x, y; };                                                         \
  struct N##3 { T x, y, z; };                                                                  \
  struct alignas(A4) N##4 { T x, y, z, w; };                                                   \
  __SIM_FN N##1 make_##N##1(T x) { return N##1{x}; }                                           \
  __SIM_FN N##2 make_##N##2(T x, T y) { return N##2{x, y}; }                                   \
  __SIM_FN N##3 make_##N##3(T x, T y, T z) { return N##3{x, y, z}; }                           \
  __SIM_FN N##4 make_##N##4(T x, T y, T z, T w) { return N##4{x, y, z, w}; }

#define __SIM_UINT_MAKERS                                                                      \
  struct uint1 { unsigned int x; };                                                            \
  struct alignas(8) uint2 { unsigned int x, y; };                                              \
  struct alignas(16) uint4 { unsigned int x, y, z, w; };

__SIM_VECTOR(signed char, char, 2, 4)
__SIM_VECTOR(unsigned char, uchar, 2, 4)
__SIM_VECTOR(short, short, 4, 8)
__SIM_VECTOR(unsigned short, ushort, 4, 8)
__SIM_VECTOR(int, int, 8, 16)
__SIM_VECTOR(long, long, 16, 16)
__SIM_VECTOR(unsigned long, ulong, 16, 16)
__SIM_VECTOR(long long, longlong, 16, 16)
__SIM_VECTOR(unsigned long long, ulonglong, 16, 16)
__SIM_VECTOR(float, float, 8, 16)
__SIM_VECTOR(double, double, 16, 16)
__SIM_UINT_MAKERS
__SIM_FN uint1 make_uint1(unsigned x) { return uint1{x}; }
__SIM_FN uint2 make_uint2(unsigned x, unsigned y) { return uint2{x, y}; }
__SIM_FN uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }
__SIM_FN uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return uint4{x, y, z, w};
}

// ---- block-wide barriers -------------------------------------------------------------------

// The fences matter: without them the compiler may keep a shared array, which is a static of the
// kernel, in registers across the call.
#define __SIM_FENCE asm volatile("" ::: "memory")
#define __SIM_BARRIER(kind, predicate)                              \
  __SIM_FENCE;                                                      \
  __sim_u32 count = __sim_block_barrier(kind, predicate);           \
  __SIM_FENCE;                                                      \
  (void)count

__SIM_FN void __syncthreads() { __SIM_BARRIER(__SIM_SYNC, false); }
__SIM_FN int __syncthreads_count(int p) { __SIM_BARRIER(__SIM_SYNC_COUNT, p != 0); return count; }
__SIM_FN int __syncthreads_or(int p) { __SIM_BARRIER(__SIM_SYNC_OR, p != 0); return count != 0; }
__SIM_FN int __syncthreads_and(int p) { __SIM_BARRIER(__SIM_SYNC_AND, p == 0); return count == 0; }
__SIM_FN void __threadfence() { __SIM_FENCE; }
__SIM_FN void __threadfence_block() { __SIM_FENCE; }
__SIM_FN void __threadfence_system() { __SIM_FENCE; }
__SIM_FN void __nanosleep(unsigned) { __SIM_FENCE; }

// ---- warp collectives ----------------------------------------------------------------------

__SIM_FN __sim_u64 __sim_warp_op(__sim_u32 kind, unsigned mask, __sim_u64 value, int source = 0) {
  __SIM_FENCE;
  __sim_u64 result = __sim_warp_collective(kind, mask, value, source);
  __SIM_FENCE;
  return result;
}

template <class T> __SIM_FN T __sim_shuffle(unsigned mask, T v, int source) {
  static_assert(sizeof(T) <= 8, "shuffles take values of at most 8 bytes");
  __sim_u64 bits = 0;
  __builtin_memcpy(&bits, &v, sizeof(T));
  bits = __sim_warp_op(__SIM_SHUFFLE, mask, bits, source);
  __builtin_memcpy(&v, &bits, sizeof(T));
  return v;
}
template <class T>
__SIM_FN T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  return __sim_shuffle(mask, v, (__sim_lane() & ~(width - 1)) | (source & (width - 1)));
}
template <class T>
__SIM_FN T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const int lane = __sim_lane(), within = lane & (width - 1);
  return __sim_shuffle(mask, v, delta <= (unsigned)within ? lane - (int)delta : lane);
}
template <class T>
__SIM_FN T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const int lane = __sim_lane(), within = lane & (width - 1);
  return __sim_shuffle(mask, v, delta < (unsigned)(width - within) ? lane + (int)delta : lane);
}
template <class T>
__SIM_FN T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  const int lane = __sim_lane(), source = lane ^ bits;
  return __sim_shuffle(mask, v, source <= (lane | (width - 1)) && source < 32 ? source : lane);
}

__SIM_FN void __syncwarp(unsigned mask = ~0u) { __sim_warp_op(__SIM_WARP_SYNC, mask, 0); }
__SIM_FN unsigned __ballot_sync(unsigned mask, int p) {
  return __sim_warp_op(__SIM_BALLOT, mask, p != 0);
}
__SIM_FN int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
__SIM_FN int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }
__SIM_FN int __uni_sync(unsigned mask, int p) {
  const unsigned yes = __ballot_sync(mask, p), no = __ballot_sync(mask, !p);
  return !yes || !no;
}
template <class T> __SIM_FN unsigned __match_any_sync(unsigned mask, T v) {
  __sim_u64 bits = 0;
  __builtin_memcpy(&bits, &v, sizeof(T));
  return __sim_warp_op(__SIM_MATCH, mask, bits);
}
template <class T> __SIM_FN unsigned __match_all_sync(unsigned mask, T v, int* all) {
  const unsigned same = __match_any_sync(mask, v), here = __ballot_sync(mask, 1);
  *all = same == here;
  return *all ? here : 0;
}
// All lanes that have not ended. Kernels should pass the mask they mean instead.
__SIM_FN unsigned __activemask() { return __sim_active(); }

#define __SIM_WARP_REDUCE(name, kind, signed_kind)                                             \
  __SIM_FN unsigned __reduce_##name##_sync(unsigned m, unsigned v) {                           \
    return __sim_warp_op(kind, m, v);                                                          \
  }                                                                                            \
  __SIM_FN int __reduce_##name##_sync(unsigned m, int v) {                                     \
    return (int)__sim_warp_op(signed_kind, m, (unsigned)v);                                    \
  }
__SIM_WARP_REDUCE(add, __SIM_ADD, __SIM_ADD)
__SIM_WARP_REDUCE(min, __SIM_MIN, __SIM_MIN_SIGNED)
__SIM_WARP_REDUCE(max, __SIM_MAX, __SIM_MAX_SIGNED)
__SIM_WARP_REDUCE(and, __SIM_AND, __SIM_AND)
__SIM_WARP_REDUCE(or, __SIM_OR, __SIM_OR)
__SIM_WARP_REDUCE(xor, __SIM_XOR, __SIM_XOR)

// ---- atomics -------------------------------------------------------------------------------

// One thread runs at a time, so plain operations are atomic. Volatile keeps each one a real access.
#define __SIM_ATOMIC(name, T, expression)                                                      \
  __SIM_FN T name(T* p, T v) {                                                                 \
    __SIM_FENCE;                                                                               \
    const T old = *p;                                                                          \
    *p = (expression);                                                                         \
    __SIM_FENCE;                                                                               \
    return old;                                                                                \
  }                                                                                            \
  __SIM_FN T name##_block(T* p, T v) { return name(p, v); }                                    \
  __SIM_FN T name##_system(T* p, T v) { return name(p, v); }
#define __SIM_ATOMIC_INTEGERS(T)                                                               \
  __SIM_ATOMIC(atomicMin, T, v < old ? v : old)                                                \
  __SIM_ATOMIC(atomicMax, T, v > old ? v : old)                                                \
  __SIM_ATOMIC(atomicAnd, T, old & v)                                                          \
  __SIM_ATOMIC(atomicOr, T, old | v)                                                           \
  __SIM_ATOMIC(atomicXor, T, old ^ v)
#define __SIM_ATOMIC_CAS(T)                                                                    \
  __SIM_FN T atomicCAS(T* p, T expected, T v) {                                                \
    __SIM_FENCE;                                                                               \
    const T old = *p;                                                                          \
    if (old == expected) *p = v;                                                               \
    __SIM_FENCE;                                                                               \
    return old;                                                                                \
  }
__SIM_ATOMIC_INTEGERS(int)
__SIM_ATOMIC_INTEGERS(unsigned int)
__SIM_ATOMIC_INTEGERS(long long)
__SIM_ATOMIC_INTEGERS(unsigned long long)
__SIM_ATOMIC(atomicAdd, int, old + v)
__SIM_ATOMIC(atomicAdd, unsigned int, old + v)
__SIM_ATOMIC(atomicAdd, unsigned long long, old + v)
__SIM_ATOMIC(atomicAdd, float, old + v)
__SIM_ATOMIC(atomicAdd, double, old + v)
__SIM_ATOMIC(atomicSub, int, old - v)
__SIM_ATOMIC(atomicSub, unsigned int, old - v)
__SIM_ATOMIC(atomicExch, int, v)
__SIM_ATOMIC(atomicExch, unsigned int, v)
__SIM_ATOMIC(atomicExch, unsigned long long, v)
__SIM_ATOMIC(atomicExch, float, v)
__SIM_ATOMIC(atomicInc, unsigned int, old >= v ? 0 : old + 1)
__SIM_ATOMIC(atomicDec, unsigned int, old == 0 || old > v ? v : old - 1)
__SIM_ATOMIC_CAS(int)
__SIM_ATOMIC_CAS(unsigned int)
__SIM_ATOMIC_CAS(unsigned long long)
__SIM_ATOMIC_CAS(unsigned short)

// ---- loads and stores with a cache hint ----------------------------------------------------

#define __SIM_LOAD(name) \
  template <class T> __SIM_FN T name(const T* p) { return *p; }
#define __SIM_STORE(name) \
  template <class T> __SIM_FN void name(T* p, T v) { *p = v; }
__SIM_LOAD(__ldg)
__SIM_LOAD(__ldca)
__SIM_LOAD(__ldcg)
__SIM_LOAD(__ldcs)
__SIM_LOAD(__ldlu)
__SIM_LOAD(__ldcv)
__SIM_STORE(__stwb)
__SIM_STORE(__stcg)
__SIM_STORE(__stcs)
__SIM_STORE(__stwt)

__SIM_FN long long clock64() { static long long ticks; return ++ticks; }
__SIM_FN int clock() { return (int)clock64(); }

// ---- memory and text -----------------------------------------------------------------------

extern "C" {
int printf(const char*, ...);
int fflush(void*);
}
__SIM_FN void* __sim_memcpy(void* to, const void* from, size_t n) {
  __asan_loadN_noabort((__sim_u64)from, n);
  __asan_storeN_noabort((__sim_u64)to, n);
  return __builtin_memmove(to, from, n);
}
__SIM_FN void* __sim_memset(void* to, int byte, size_t n) {
  __asan_storeN_noabort((__sim_u64)to, n);
  return __builtin_memset(to, byte, n);
}
#define memcpy(to, from, n) __sim_memcpy(to, from, n)
#define memmove(to, from, n) __sim_memcpy(to, from, n)
#define memset(to, byte, n) __sim_memset(to, byte, n)

// ---- macros of <stddef.h> and <stdint.h> ----------------------------------------------------

#define offsetof(type, member) __builtin_offsetof(type, member)
#define INT8_MAX __INT8_MAX__
#define INT8_MIN (-__INT8_MAX__ - 1)
#define UINT8_MAX __UINT8_MAX__
#define INT16_MAX __INT16_MAX__
#define INT16_MIN (-__INT16_MAX__ - 1)
#define UINT16_MAX __UINT16_MAX__
#define INT32_MAX __INT32_MAX__
#define INT32_MIN (-__INT32_MAX__ - 1)
#define UINT32_MAX __UINT32_MAX__
#define INT64_MAX __INT64_MAX__
#define INT64_MIN (-__INT64_MAX__ - 1)
#define UINT64_MAX __UINT64_MAX__
#define SIZE_MAX __SIZE_MAX__

__SIM_FN void __trap() { __sim_fail(__SIM_TRAP); }
#define assert(condition) \
  ((condition) ? (void)0 : __sim_fail_text(__SIM_ASSERT, #condition, __LINE__))
