// The addresses of equally spaced matrices, which batched library functions take as an array.

extern "C" __global__ void __launch_bounds__(256)
lz_pointers(unsigned long long* out, unsigned long long first, unsigned long long step,
            long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) out[i] = first + i * step;
}
