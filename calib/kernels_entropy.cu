// Cross entropy, unfused, as Megatron has it: each line of its code is a kernel. Each says what one ideal pass moves, in
// bytes an element.
#include "calib/kernels.cuh"

namespace {

// logits.float(): 2 read, 4 written
__global__ void widen(const bf16 *x, float *y, int64_t n)
{
    int64_t i = first_element();
    if (i < n)
        store(y + i, load(x + i));
}

// amax(dim): 4 read
template <typename Op>
__global__ void over_row(const float *x, float *result, int width)
{
    int64_t row = blockIdx.x;
    float value = Op::none;
    for (int i = 8 * threadIdx.x; i < width; i += 8 * THREADS) {
        Eight e = load(x + row * width + i);
        for (int j = 0; j < 8; j++)
            value = Op::of(value, e.v[j]);
    }
    value = over_block<Op>(value);
    if (threadIdx.x == 0)
        result[row] = value;
}

enum Step { SUBTRACT, EXPONENTIATE, DIVIDE, MULTIPLY };

// x op= row's value, in place: 4 read, 4 written
template <Step step>
__global__ void each_element(float *x, const float *values, int64_t n, int width)
{
    int64_t i = first_element();
    if (i >= n)
        return;
    float value = step == EXPONENTIATE ? 0 : values[i / width];
    Eight e = load(x + i);
    for (int j = 0; j < 8; j++)
        e.v[j] = step == SUBTRACT       ? e.v[j] - value
                 : step == EXPONENTIATE ? __expf(e.v[j])
                 : step == DIVIDE       ? __fdividef(e.v[j], value)
                                        : e.v[j] * value;
    store(x + i, e);
}

// gradient.bfloat16(): 4 read, 2 written
__global__ void shorten(const float *x, bf16 *y, int64_t n)
{
    int64_t i = first_element();
    if (i < n)
        store(y + i, load(x + i));
}

void forward(const Task &t)
{
    unsigned rows = unsigned(t.rows);
    float *x = t.array<float>(1), *most = t.array<float>(2), *sum = t.array<float>(3);
    widen<<<t.elements, THREADS, 0, t.stream>>>(t.array<bf16>(0), x, t.n);
    over_row<Most><<<rows, THREADS, 0, t.stream>>>(x, most, t.width);
    each_element<SUBTRACT><<<t.elements, THREADS, 0, t.stream>>>(x, most, t.n, t.width);
    each_element<EXPONENTIATE><<<t.elements, THREADS, 0, t.stream>>>(x, most, t.n, t.width);
    over_row<Add><<<rows, THREADS, 0, t.stream>>>(x, sum, t.width);
    each_element<DIVIDE><<<t.elements, THREADS, 0, t.stream>>>(x, sum, t.n, t.width);
}

// softmax x gradient of the loss in place, 8; cast, 6
void backward(const Task &t)
{
    each_element<MULTIPLY><<<t.elements, THREADS, 0, t.stream>>>(
        t.array<float>(0), t.array<float>(2), t.n, t.width);
    shorten<<<t.elements, THREADS, 0, t.stream>>>(t.array<float>(0), t.array<bf16>(1), t.n);
}

} // namespace

bool
calib_kernels_entropy(CalibKernel kernel, const Task &t)
{
    if (kernel != CALIB_CROSS_ENTROPY && kernel != CALIB_CROSS_ENTROPY_BACKWARD)
        return false;
    if (kernel == CALIB_CROSS_ENTROPY)
        forward(t);
    else
        backward(t);
    return true;
}
