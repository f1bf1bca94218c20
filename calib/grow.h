/* Arrays that grow. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* `items` with room for one more than `n`, of `each` bytes; ends the program when there is no memory. */
static inline void *
calib_grow(void *items, size_t n, size_t *room, size_t each)
{
    if (n < *room)
        return items;
    *room = *room > 0 ? *room * 2 : 16;
    void *larger = realloc(items, *room * each);
    if (larger == NULL) {
        fputs("dtsim-calibrate: no memory left\n", stderr);
        abort();
    }
    return larger;
}
