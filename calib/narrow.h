/* Numbers of 16 and 8 bits from fp32, rounded to nearest, ties to even; no CUDA in it. */
#pragma once

#include <stdint.h>

uint16_t calib_narrow_bf16(float value);
uint16_t calib_narrow_fp16(float value); /* beyond 65504: infinite */
uint8_t calib_narrow_e4m3(float value);  /* OCP's; beyond 448: 448 */
