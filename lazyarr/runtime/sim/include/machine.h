// What kernels and the machine that runs them (machine.cpp) share.
//
// This file, cuda_sim.h and cuda_math.h are put in front of every kernel source and compiled with
// it. No standard header is included: that keeps a compile under a tenth of a second. Names that
// begin with __sim_ are not for kernels.

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned int __sim_u32;
typedef unsigned long long __sim_u64;

// Glue that the machine calls is not instrumented itself.
#define __SIM_RT __attribute__((no_sanitize_address, no_sanitize_undefined))
#define __SIM_FN static inline __attribute__((always_inline))

struct uint3 { unsigned int x, y, z; };
struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int a = 1, unsigned int b = 1, unsigned int c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  operator uint3() const { return uint3{x, y, z}; }
};

// ---- what Python and this file share (mirrored in library.py) ------------------------------

struct __sim_range { __sim_u64 lo, hi; __sim_u32 writable, shared; };

struct __sim_error {
  __sim_u32 code, write, line, size;
  __sim_u64 address, a, b, place;
  __sim_u32 thread[3], block[3], other[3], kinds[2];
  const char* text;
};

struct __sim_request {
  __sim_u32 kernel, shared;
  __sim_u32 grid[3], block[3];
  const char* arguments;
  const __sim_range* ranges;
  __sim_u64 range_count;
  char* stacks;  // one after another, each stack_bytes long
  __sim_u64 stack_bytes;
  __sim_error error;
};

struct __sim_kernel {
  const char* name;
  __sim_u64 argument_bytes;
  void (*run)(const char*);
};

enum {
  __SIM_OK, __SIM_ACCESS, __SIM_MISALIGNED, __SIM_DIVIDE, __SIM_BOUNDS, __SIM_DEADLOCK,
  __SIM_STACK, __SIM_TRAP, __SIM_MASK, __SIM_ASSERT, __SIM_FAULT
};

enum {
  __SIM_SYNC = 1, __SIM_SYNC_COUNT, __SIM_SYNC_AND, __SIM_SYNC_OR,
  __SIM_WARP_SYNC = 8, __SIM_SHUFFLE, __SIM_BALLOT, __SIM_MATCH, __SIM_ADD, __SIM_MIN, __SIM_MAX,
  __SIM_MIN_SIGNED, __SIM_MAX_SIGNED, __SIM_AND, __SIM_OR, __SIM_XOR
};

// ---- what machine.cpp gives to kernels ------------------------------------------------------

// The flag -fvisibility does not reach declarations: without this, each use would go by the GOT.
#pragma GCC visibility push(hidden)
extern "C" {
#ifdef __SIM_MACHINE
extern uint3 threadIdx, blockIdx, blockDim, gridDim;
#else
uint3 threadIdx, blockIdx, blockDim, gridDim;  // defined here: reads of known objects go unchecked
#endif
extern char __sim_dynamic[];  // the dynamic shared memory
extern const __sim_kernel __sim_kernels[];  // defined behind the kernels
__sim_u32 __sim_block_barrier(__sim_u32 kind, bool predicate);
__sim_u64 __sim_warp_collective(__sim_u32 kind, __sim_u32 mask, __sim_u64 value, int source);
int __sim_lane();
__sim_u32 __sim_active();
void __sim_fail(__sim_u32 code);
void __sim_fail_text(__sim_u32 code, const char* text, __sim_u32 line);
void __asan_loadN_noabort(__sim_u64 address, __sim_u64 size);
void __asan_storeN_noabort(__sim_u64 address, __sim_u64 size);
}
#pragma GCC visibility pop

// ---- parameter block to call ---------------------------------------------------------------

template <unsigned... I> struct __sim_indices {};
#ifdef __clang__
template <class, unsigned... I> using __sim_sequence = __sim_indices<I...>;
#endif

template <class... A> struct __sim_layout {
  static constexpr size_t offset(unsigned which) {
    constexpr size_t sizes[] = {sizeof(A)..., 0}, aligns[] = {alignof(A)..., 1};
    size_t at = 0;
    for (unsigned i = 0;; ++i) {
      at = (at + aligns[i] - 1) / aligns[i] * aligns[i];
      if (i == which) return at;
      at += sizes[i];
    }
  }
  static constexpr size_t total = offset(sizeof...(A));
};

template <class S, S* F> struct __sim_entry;
template <class... A, void (*F)(A...)> struct __sim_entry<void(A...), F> {
  static constexpr size_t bytes = __sim_layout<A...>::total;
  template <unsigned... I>
  __SIM_RT static inline void call(const char* p, __sim_indices<I...>) {
    F(*(const A*)(p + __sim_layout<A...>::offset(I))...);
  }
  __SIM_RT static void run(const char* p) {
#ifdef __clang__
    call(p, __make_integer_seq<__sim_sequence, unsigned, sizeof...(A)>{});
#else
    call(p, __sim_indices<__integer_pack(sizeof...(A))...>{});
#endif
  }
};
#define __SIM_KERNEL(name, function) \
  {name, __sim_entry<decltype(function), function>::bytes, \
   __sim_entry<decltype(function), function>::run},
