// The machine under the simulator: checked memory access, fibres, barriers and the launch loop.
//
// Compiled once, after machine.h and without instrumentation, and linked into every module, which
// thereby has a machine of its own. All symbols but the entry points are hidden.

#include <pthread.h>
#include <signal.h>

// ---- state ---------------------------------------------------------------------------------

enum {
  __SIM_MAX_THREADS = 1024, __SIM_MAX_WARPS = 32, __SIM_MAX_RANGES = 4096, __SIM_SITES = 256,
  __SIM_RED_ZONE = 4096, __SIM_MAX_SHARED = 232448, __SIM_MAX_ARGUMENTS = 32768
};
enum { __SIM_DONE, __SIM_RUNNING, __SIM_READY, __SIM_AT_BLOCK, __SIM_AT_WARP };

struct __sim_thread {
  __sim_u32 state, kind, mask, stack;
  uint3 index;
  int source;
  __sim_u64 value, result;
};
struct __sim_warp { __sim_u32 exited, waiting; };

extern "C" {
// Not static: the context switch is opaque to the compiler, and it may change all of these.
__attribute__((aligned(256))) char __sim_dynamic[__SIM_MAX_SHARED];
__attribute__((aligned(256))) char __sim_arguments[__SIM_MAX_ARGUMENTS];
__sim_range __sim_ranges[__SIM_MAX_RANGES];
__sim_u32 __sim_range_count, __sim_global_count;
const __sim_range* __sim_load_site[__SIM_SITES];
const __sim_range* __sim_store_site[__SIM_SITES];
__sim_request* __sim_now;
void (*__sim_run)(const char*);
void* __sim_host_context;
void* __sim_contexts[__SIM_MAX_THREADS];
__sim_u32 __sim_idle[__SIM_MAX_THREADS];
__sim_u32 __sim_idle_count, __sim_stack_count, __sim_entering;
__sim_thread __sim_threads[__SIM_MAX_THREADS];
__sim_warp __sim_warps[__SIM_MAX_WARPS];
__sim_u32 __sim_current, __sim_next, __sim_total, __sim_live, __sim_parked;
uint3 __sim_next_index;
__sim_u32 __sim_arrived, __sim_barrier_kind, __sim_barrier_sum, __sim_barrier_result;
}

// The first ranges of the table; those of the module's own objects and of the arguments follow.
enum { __SIM_RANGE_NONE, __SIM_RANGE_STACK, __SIM_RANGE_DYNAMIC, __SIM_RANGE_FIRST };

// ---- switching stacks ----------------------------------------------------------------------

#if defined(__x86_64__)
asm(".text\n"
    ".type __sim_switch,@function\n"
    "__sim_switch:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
    "  ret\n"
    ".size __sim_switch, .-__sim_switch\n");
extern "C" void __sim_switch(void** save, void* to);
#define __SIM_GET_SP(sp) asm volatile("mov %%rsp, %0" : "=r"(sp))

static void* __sim_new_context(char* top, void (*entry)()) {
  void** sp = (void**)top - 8;  // six registers, the entry, a slot that keeps the alignment
  for (int i = 0; i < 8; ++i) sp[i] = 0;
  sp[6] = (void*)entry;
  return sp;
}
#elif defined(__aarch64__)
asm(".text\n"
    ".type __sim_switch,%function\n"
    "__sim_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n  ret\n"
    ".size __sim_switch, .-__sim_switch\n");
extern "C" void __sim_switch(void** save, void* to);
#define __SIM_GET_SP(sp) asm volatile("mov %0, sp" : "=r"(sp))

static void* __sim_new_context(char* top, void (*entry)()) {
  void** sp = (void**)top - 20;
  for (int i = 0; i < 20; ++i) sp[i] = 0;
  sp[11] = (void*)entry;
  return sp;
}
#else
#error "the sim device knows x86-64 and aarch64 only"
#endif

// ---- errors --------------------------------------------------------------------------------

// Ends the launch: back to the host's stack; this fibre is never resumed. Deliberately not marked
// noreturn, so that callers keep an ordinary frame.
extern "C" __attribute__((noinline)) void __sim_fail(__sim_u32 code) {
  __sim_error& e = __sim_now->error;
  e.code = code;
  e.thread[0] = threadIdx.x, e.thread[1] = threadIdx.y, e.thread[2] = threadIdx.z;
  e.block[0] = blockIdx.x, e.block[1] = blockIdx.y, e.block[2] = blockIdx.z;
  void* dropped;
  __sim_switch(&dropped, __sim_host_context);
  __builtin_trap();
}

extern "C" __attribute__((noinline)) void __sim_fail_text(
    __sim_u32 code, const char* text, __sim_u32 line) {
  __sim_now->error.text = text;
  __sim_now->error.line = line;
  __sim_fail(code);
}

// ---- checked access ------------------------------------------------------------------------

__attribute__((noinline)) static void __sim_slow_check(
    __sim_u64 a, __sim_u64 n, bool write, const __sim_range** site, __sim_u64 place) {
  __sim_u64 sp;
  __SIM_GET_SP(sp);
  // Below the range but on the stack at all: a red zone is left for this function itself.
  if (sp < __sim_ranges[__SIM_RANGE_STACK].lo) __sim_fail(__SIM_STACK);
  if (n == 0) return;
  for (__sim_u32 i = __SIM_RANGE_STACK; i < __sim_range_count; ++i) {
    const __sim_range& r = __sim_ranges[i];
    if (a >= r.lo && a < r.hi && n <= r.hi - a && (r.writable || !write)) {
      *site = &r;
      return;
    }
  }
  __sim_error& e = __sim_now->error;
  e.address = a, e.size = (__sim_u32)n, e.write = write, e.place = place;
  __sim_fail(__SIM_ACCESS);
}

// Each place in the code usually touches the same argument, so the range that it hit last is
// found by its return address.
#define __SIM_CHECK(a, n, write, sites)                                               \
  __sim_u64 place = (__sim_u64)__builtin_return_address(0);                           \
  const __sim_range** site = &sites[(place ^ (place >> 10)) & (__SIM_SITES - 1)];     \
  const __sim_range* r = *site;                                                       \
  __sim_u64 sp;                                                                       \
  __SIM_GET_SP(sp);                                                                   \
  if (__builtin_expect((a) >= r->lo && (a) <= r->hi - (n) &&                          \
                       sp >= __sim_ranges[__SIM_RANGE_STACK].lo, 1)) return;          \
  __sim_slow_check(a, n, write, site, place);

#define __SIM_HOOKS(n)                                                                \
  extern "C"                     \
  void __asan_load##n##_noabort(__sim_u64 a) {                                        \
    __SIM_CHECK(a, n, false, __sim_load_site)                                         \
  }                                                                                   \
  extern "C"                     \
  void __asan_store##n##_noabort(__sim_u64 a) {                                       \
    __SIM_CHECK(a, n, true, __sim_store_site)                                         \
  }
__SIM_HOOKS(1)
__SIM_HOOKS(2)
__SIM_HOOKS(4)
__SIM_HOOKS(8)
__SIM_HOOKS(16)

extern "C" {
void __asan_loadN_noabort(
    __sim_u64 a, __sim_u64 n) {
  const __sim_range* site;
  __sim_slow_check(a, n, false, &site, (__sim_u64)__builtin_return_address(0));
}
void __asan_storeN_noabort(
    __sim_u64 a, __sim_u64 n) {
  const __sim_range* site;
  __sim_slow_check(a, n, true, &site, (__sim_u64)__builtin_return_address(0));
}
// The symbol table tells which objects exist; padding them is all that is wanted of the compiler.
void __asan_register_globals(void*, size_t) {}
void __asan_unregister_globals(
    void*, size_t) {}
void __asan_handle_no_return() {}

struct __sim_place { const char* file; __sim_u32 line, column; };
struct __sim_type { unsigned short kind, info; char name[1]; };
struct __sim_mismatch { __sim_place place; __sim_type* type; unsigned char log_align, kind; };
struct __sim_typed { __sim_place place; __sim_type* type; };

void __ubsan_handle_type_mismatch_v1(
    __sim_mismatch* d, __sim_u64 address) {
  __sim_error& e = __sim_now->error;
  e.address = address, e.a = 1ull << d->log_align, e.text = d->type->name, e.line = d->place.line;
  e.write = d->kind == 1;
  __sim_fail(__SIM_MISALIGNED);
}
void __ubsan_handle_divrem_overflow(
    __sim_typed* d, __sim_u64, __sim_u64) {
  __sim_fail_text(__SIM_DIVIDE, d->type->name, d->place.line);
}
void __ubsan_handle_out_of_bounds(
    __sim_typed* d, __sim_u64 index) {
  __sim_now->error.a = index;
  __sim_fail_text(__SIM_BOUNDS, d->type->name, d->place.line);
}
}  // extern "C"

// ---- threads -------------------------------------------------------------------------------

static void __sim_fiber();

static void __sim_enter_stack(__sim_u32 stack) {
  __sim_range& r = __sim_ranges[__SIM_RANGE_STACK];
  char* base = __sim_now->stacks + stack * __sim_now->stack_bytes;
  r.lo = (__sim_u64)base + __SIM_RED_ZONE;
  r.hi = (__sim_u64)base + __sim_now->stack_bytes;
}

// Picks what runs next: a thread not yet started, else one whose barrier is complete, else the host.
static void* __sim_pick() {
  if (__sim_next < __sim_total) {
    if (__sim_idle_count) {
      __sim_entering = __sim_idle[--__sim_idle_count];
    } else {
      __sim_entering = __sim_stack_count++;
      char* top = __sim_now->stacks + (__sim_entering + 1) * __sim_now->stack_bytes;
      __sim_contexts[__sim_entering] = __sim_new_context(top, __sim_fiber);
    }
    __sim_enter_stack(__sim_entering);
    return __sim_contexts[__sim_entering];
  }
  for (__sim_u32 left = __sim_parked ? __sim_total : 0, i = __sim_current; left; --left) {
    if (++i >= __sim_total) i = 0;
    __sim_thread& t = __sim_threads[i];
    if (t.state != __SIM_READY) continue;
    t.state = __SIM_RUNNING;
    --__sim_parked;
    __sim_current = i;
    threadIdx = t.index;
    __sim_enter_stack(t.stack);
    return __sim_contexts[t.stack];
  }
  return __sim_host_context;
}

// Leave the current thread until its barrier is complete.
static void __sim_park(__sim_u32 state) {
  __sim_thread& t = __sim_threads[__sim_current];
  t.state = state;
  t.index = threadIdx;
  ++__sim_parked;
  void** save = &__sim_contexts[t.stack];
  __sim_switch(save, __sim_pick());
}

static void __sim_release_block() {
  __sim_barrier_result = __sim_barrier_sum;
  __sim_arrived = __sim_barrier_sum = __sim_barrier_kind = 0;
  for (__sim_u32 i = 0; i < __sim_total; ++i)
    if (__sim_threads[i].state == __SIM_AT_BLOCK) __sim_threads[i].state = __SIM_READY;
}

// One block-wide barrier; the result is the number of threads whose predicate holds.
extern "C" __sim_u32 __sim_block_barrier(
    __sim_u32 kind, bool predicate) {
  if (__sim_arrived && __sim_barrier_kind != kind) {
    __sim_now->error.kinds[0] = __sim_barrier_kind, __sim_now->error.kinds[1] = kind;
    __sim_fail(__SIM_DEADLOCK);
  }
  __sim_barrier_kind = kind;
  __sim_barrier_sum += predicate;
  __sim_threads[__sim_current].kind = kind;
  if (++__sim_arrived == __sim_live)
    __sim_release_block();
  else
    __sim_park(__SIM_AT_BLOCK);
  return __sim_barrier_result;
}

static __sim_u32 __sim_reduce(__sim_u32 kind, __sim_u32 x, __sim_u32 y) {
  switch (kind) {
    case __SIM_ADD: return x + y;
    case __SIM_MIN: return x < y ? x : y;
    case __SIM_MAX: return x > y ? x : y;
    case __SIM_MIN_SIGNED: return (int)x < (int)y ? x : y;
    case __SIM_MAX_SIGNED: return (int)x > (int)y ? x : y;
    case __SIM_AND: return x & y;
    case __SIM_OR: return x | y;
    default: return x ^ y;
  }
}

static void __sim_warp_results(__sim_thread* warp, __sim_u32 kind, __sim_u32 need) {
  __sim_u64 common = 0;
  bool first = true;
  for (__sim_u32 i = 0; i < 32; ++i) {
    __sim_thread& t = warp[i];
    if (!(need >> i & 1)) continue;
    if (kind == __SIM_SHUFFLE) {
      t.result = need >> t.source & 1 ? warp[t.source].value : 0xCBCBCBCBCBCBCBCBull;
    } else if (kind == __SIM_MATCH) {
      t.result = 0;
      for (__sim_u32 k = 0; k < 32; ++k)
        if ((need >> k & 1) && warp[k].value == t.value) t.result |= 1ull << k;
    } else if (kind == __SIM_BALLOT) {
      common |= (__sim_u64)(t.value != 0) << i;
    } else {
      common = first ? t.value : __sim_reduce(kind, common, t.value);
    }
    first = false;
  }
  if (kind == __SIM_SHUFFLE || kind == __SIM_MATCH) return;
  for (__sim_u32 i = 0; i < 32; ++i)
    if (need >> i & 1) warp[i].result = common;
}

// Completes the collective that `lane` waits at if every live lane of its mask is there too.
static bool __sim_try_warp(__sim_u32 w, __sim_u32 lane) {
  __sim_thread* warp = __sim_threads + 32 * w;
  const __sim_u32 kind = warp[lane].kind, mask = warp[lane].mask;
  const __sim_u32 need = mask & ~__sim_warps[w].exited;
  if ((__sim_warps[w].waiting & need) != need) return false;
  for (__sim_u32 i = 0; i < 32; ++i)
    if ((need >> i & 1) && (warp[i].kind != kind || warp[i].mask != mask)) return false;
  __sim_warp_results(warp, kind, need);
  for (__sim_u32 i = 0; i < 32; ++i)
    if ((need >> i & 1) && warp[i].state == __SIM_AT_WARP) warp[i].state = __SIM_READY;
  __sim_warps[w].waiting &= ~need;
  return true;
}

// One collective of the lanes in `mask`: all of them deposit a value and get their own result.
extern "C" __sim_u64 __sim_warp_collective(
    __sim_u32 kind, __sim_u32 mask, __sim_u64 value, int source) {
  const __sim_u32 w = __sim_current >> 5, lane = __sim_current & 31;
  __sim_thread& t = __sim_threads[__sim_current];
  if (!(mask >> lane & 1)) {
    __sim_now->error.a = mask, __sim_now->error.kinds[0] = kind;
    __sim_fail(__SIM_MASK);
  }
  t.kind = kind, t.mask = mask, t.value = value, t.source = source;
  __sim_warps[w].waiting |= 1u << lane;
  if (!__sim_try_warp(w, lane)) __sim_park(__SIM_AT_WARP);
  return t.result;
}

// The lane comes from the state and not from threadIdx: right for blocks of any shape.
extern "C" int __sim_lane() { return __sim_current & 31; }

// The lanes that have not ended: threads run one at a time, so nothing narrower is known.
extern "C" __sim_u32 __sim_active() { return ~__sim_warps[__sim_current >> 5].exited; }

// A thread that ended counts as arrived at every barrier.
static void __sim_thread_exit() {
  const __sim_u32 w = __sim_current >> 5;
  __sim_threads[__sim_current].state = __SIM_DONE;
  __sim_warps[w].exited |= 1u << (__sim_current & 31);
  --__sim_live;
  if (__sim_arrived && __sim_arrived == __sim_live) __sim_release_block();
  if (__builtin_expect(__sim_warps[w].waiting != 0, 0))
    for (__sim_u32 i = 0; i < 32; ++i)
      if (__sim_warps[w].waiting >> i & 1) __sim_try_warp(w, i);
}

// A fibre runs one thread after another; only one that waits at a barrier keeps its stack, so a
// kernel without barriers runs as a plain loop on one stack.
static void __sim_fiber() {
  const __sim_u32 stack = __sim_entering;
  for (;;) {
    while (__sim_next < __sim_total) {
      __sim_current = __sim_next++;
      threadIdx = __sim_next_index;
      if (++__sim_next_index.x == blockDim.x) {
        __sim_next_index.x = 0;
        if (++__sim_next_index.y == blockDim.y) {
          __sim_next_index.y = 0;
          ++__sim_next_index.z;
        }
      }
      __sim_threads[__sim_current].stack = stack;
      __sim_threads[__sim_current].state = __SIM_RUNNING;
      __sim_run(__sim_arguments);
      __sim_thread_exit();
    }
    __sim_idle[__sim_idle_count++] = stack;
    __sim_switch(&__sim_contexts[stack], __sim_pick());
  }
}

static void __sim_deadlock() {
  __sim_error& e = __sim_now->error;
  const __sim_thread *first = 0, *second = 0;
  for (__sim_u32 i = 0; i < __sim_total; ++i) {
    const __sim_thread& t = __sim_threads[i];
    if (t.state != __SIM_AT_BLOCK && t.state != __SIM_AT_WARP) continue;
    if (!first) first = &t;
    if (!second && (t.kind != first->kind || t.mask != first->mask)) second = &t;
  }
  e.code = __SIM_DEADLOCK;
  e.thread[0] = first->index.x, e.thread[1] = first->index.y, e.thread[2] = first->index.z;
  e.block[0] = blockIdx.x, e.block[1] = blockIdx.y, e.block[2] = blockIdx.z;
  e.kinds[0] = first->kind, e.a = first->mask;
  if (!second) return;
  e.other[0] = second->index.x, e.other[1] = second->index.y, e.other[2] = second->index.z;
  e.kinds[1] = second->kind, e.b = second->mask;
}

// Poisoned at the start of every block: what an earlier block left must not be relied on.
static void __sim_poison_shared() {
  __builtin_memset(__sim_dynamic, 0xCB, __sim_now->shared);
  for (__sim_u32 i = __SIM_RANGE_FIRST; i < __sim_global_count; ++i) {
    const __sim_range& r = __sim_ranges[i];
    if (r.shared) __builtin_memset((void*)r.lo, 0xCB, r.hi - r.lo);
  }
}

static void __sim_run_block() {
  __sim_next = __sim_parked = __sim_arrived = __sim_barrier_sum = __sim_barrier_kind = 0;
  __sim_live = __sim_total;
  __sim_next_index = uint3{0, 0, 0};
  for (__sim_u32 i = 0; i < (__sim_total + 31) / 32; ++i) __sim_warps[i] = __sim_warp{0, 0};
  if (__sim_total & 31) __sim_warps[__sim_total / 32].exited = ~0u << (__sim_total & 31);
  __sim_poison_shared();
  __sim_switch(&__sim_host_context, __sim_pick());
  if (__sim_now->error.code) return;
  if (__sim_live) __sim_deadlock();
}

// ---- what no check foresees ------------------------------------------------------------------

// A division that overflows, a recursion without any checked access, a call through a bad pointer:
// the processor's own fault ends the launch instead of the process. Installed during launches only.
enum { __SIM_FAULTS = 4, __SIM_SIGNAL_STACK = 1 << 16 };
static const int __sim_signals[__SIM_FAULTS] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL};
static struct sigaction __sim_former[__SIM_FAULTS];
static stack_t __sim_former_stack;
static pthread_t __sim_launcher;
static char __sim_signal_stack[__SIM_SIGNAL_STACK];

static void __sim_faulted(int number, siginfo_t* info, void*) {
  if (!pthread_equal(pthread_self(), __sim_launcher)) {
    // Another thread's: give the signal back, and let the instruction fault again.
    for (int i = 0; i < __SIM_FAULTS; ++i)
      if (__sim_signals[i] == number) sigaction(number, &__sim_former[i], 0);
    return;
  }
  __sim_now->error.address = (__sim_u64)info->si_addr;
  if (number == SIGFPE) __sim_fail_text(__SIM_DIVIDE, "integers", 0);
  __sim_fail(number == SIGILL ? __SIM_TRAP : __SIM_FAULT);
}

static void __sim_catch_faults() {
  struct sigaction action;
  __builtin_memset(&action, 0, sizeof(action));
  action.sa_sigaction = __sim_faulted;
  // NODEFER: the handler never returns, so the signal must not stay blocked.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  stack_t stack;
  __builtin_memset(&stack, 0, sizeof(stack));
  stack.ss_sp = __sim_signal_stack;
  stack.ss_size = sizeof(__sim_signal_stack);
  __sim_launcher = pthread_self();
  sigaltstack(&stack, &__sim_former_stack);
  for (int i = 0; i < __SIM_FAULTS; ++i) sigaction(__sim_signals[i], &action, &__sim_former[i]);
}

static void __sim_release_faults() {
  for (int i = 0; i < __SIM_FAULTS; ++i) sigaction(__sim_signals[i], &__sim_former[i], 0);
  sigaltstack(&__sim_former_stack, 0);
}

static void __sim_prepare(__sim_request* q, const __sim_kernel& kernel) {
  __sim_now = q;
  __sim_run = kernel.run;
  blockDim = uint3{q->block[0], q->block[1], q->block[2]};
  gridDim = uint3{q->grid[0], q->grid[1], q->grid[2]};
  __sim_total = q->block[0] * q->block[1] * q->block[2];
  __sim_idle_count = __sim_stack_count = 0;
  __builtin_memcpy(__sim_arguments, q->arguments, kernel.argument_bytes);
  __builtin_memset(__sim_threads, 0, __sim_total * sizeof(__sim_thread));
  __sim_ranges[__SIM_RANGE_NONE] = __sim_range{~0ull, ~0ull, 0, 0};
  __sim_ranges[__SIM_RANGE_STACK] = __sim_range{~0ull, ~0ull, 1, 0};
  __sim_ranges[__SIM_RANGE_DYNAMIC] =
      __sim_range{(__sim_u64)__sim_dynamic, (__sim_u64)__sim_dynamic + q->shared, 1, 0};
  __sim_range_count = __sim_global_count;
  for (__sim_u64 i = 0; i < q->range_count; ++i)
    __sim_ranges[__sim_range_count++] = q->ranges[i];
  for (__sim_u32 i = 0; i < __SIM_SITES; ++i)
    __sim_load_site[i] = __sim_store_site[i] = &__sim_ranges[__SIM_RANGE_NONE];
}

// ---- entry points --------------------------------------------------------------------------

// Says which objects of the module kernels may touch. Called once, before any launch.
extern "C" __attribute__((visibility("default"))) void lazyarr_sim_objects(const __sim_range* ranges, __sim_u64 count) {
  for (__sim_u64 i = 0; i < count; ++i) __sim_ranges[__SIM_RANGE_FIRST + i] = ranges[i];
  __sim_global_count = __SIM_RANGE_FIRST + count;
}

extern "C" __attribute__((visibility("default"))) const void* lazyarr_sim_dynamic() { return __sim_dynamic; }

extern "C" __attribute__((visibility("default"))) const __sim_kernel* lazyarr_sim_kernel(__sim_u32 i) { return &__sim_kernels[i]; }

// Runs one launch to its end. The caller has checked sizes, and holds a lock.
extern "C" __attribute__((visibility("default"))) __sim_u32 lazyarr_sim_launch(__sim_request* q) {
  __sim_prepare(q, __sim_kernels[q->kernel]);
  __sim_catch_faults();
  for (__sim_u32 z = 0; z < q->grid[2] && !q->error.code; ++z)
    for (__sim_u32 y = 0; y < q->grid[1] && !q->error.code; ++y)
      for (__sim_u32 x = 0; x < q->grid[0] && !q->error.code; ++x) {
        blockIdx = uint3{x, y, z};
        __sim_run_block();
      }
  __sim_release_faults();
  return q->error.code;
}

