/* Rounds fp32 to fewer bits. */
#include "config.h"

#include "calib/narrow.h"

#include <math.h>
#include <string.h>

uint16_t
calib_narrow_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* |value| as a number of `mantissa` bits whose least normal exponent is `least`; steps below it stay even. rint rounds
 * ties to even. */
static uint32_t
narrow(float value, int mantissa, int least)
{
    int exponent;
    frexpf(value, &exponent); /* value = 0.5..1 x 2^exponent */
    exponent = exponent - 1 < least ? least : exponent - 1;
    uint32_t steps = (uint32_t)rintf(ldexpf(value, mantissa - exponent));
    /* a mantissa that rounded up to the next power of two carries into the exponent by itself */
    return ((uint32_t)(exponent - least) << mantissa) + steps;
}

uint16_t
calib_narrow_fp16(float value)
{
    float size = fabsf(value);
    uint32_t bits = size == 0 ? 0 : size >= 65520 ? 0x7c00 : narrow(size, 10, -14);
    return (uint16_t)(bits | (signbit(value) ? 0x8000 : 0));
}

uint8_t
calib_narrow_e4m3(float value)
{
    float size = fabsf(value);
    uint32_t bits = size == 0 ? 0 : size >= 448 ? 0x7e : narrow(size, 3, -6);
    return (uint8_t)(bits | (signbit(value) ? 0x80 : 0));
}
