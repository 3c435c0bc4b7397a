// The sign and the logarithm of the size of determinants, from LU factors: the product of the
// pivots, negated for every exchange of rows. One block a matrix. LZ_R is the real type, LZ_PARTS 2
// for complex elements; `pivots` count from 1. The order depends on n alone.

extern "C" __global__ void __launch_bounds__(128)
lz_determinant(LZ_R* sign, double* size, const LZ_R* factors, const int* pivots, long long n) {
  __shared__ double re[128], im[128], sum[128];
  const int t = threadIdx.x;
  const long long matrix = blockIdx.x;
  double r = 1, s = 0, total = 0;
  for (long long i = t; i < n; i += 128) {
    const LZ_R* p = factors + (matrix * n * n + i * (n + 1)) * LZ_PARTS;
    const double x = p[0];
#if LZ_PARTS == 2
    const double y = p[1], a = hypot(x, y);
    double u = a == 0 ? 0 : x / a, v = a == 0 ? 0 : y / a;
#else
    const double a = fabs(x);
    double u = x > 0 ? 1 : x < 0 ? -1 : x, v = 0;
#endif
    if (pivots[matrix * n + i] != i + 1) {
      u = -u;
      v = -v;
    }
    const double real = r * u - s * v;
    s = r * v + s * u;
    r = real;
    total += log(a);
  }
  re[t] = r;
  im[t] = s;
  sum[t] = total;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) {
      const double real = re[t] * re[t + half] - im[t] * im[t + half];
      im[t] = re[t] * im[t + half] + im[t] * re[t + half];
      re[t] = real;
      sum[t] += sum[t + half];
    }
  }
  if (t == 0) {
    sign[matrix * LZ_PARTS] = (LZ_R)re[0];
#if LZ_PARTS == 2
    sign[matrix * LZ_PARTS + 1] = (LZ_R)im[0];
#endif
    size[matrix] = sum[0];
  }
}
