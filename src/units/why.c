/* A tree of named contributions behind a number. */
#include "config.h"

#include "units/why.h"

Why *
why_new(const char *name, double value)
{
    Why *why = g_new0(Why, 1);
    why->name = g_strdup(name);
    why->value = value;
    return why;
}

void
why_add(Why *why, Why *part)
{
    if (why->parts == NULL)
        why->parts = g_ptr_array_new_with_free_func((GDestroyNotify)why_free);
    g_ptr_array_add(why->parts, part);
    why->value += part->value;
}

void
why_free(Why *why)
{
    if (why == NULL)
        return;
    g_clear_pointer(&why->parts, g_ptr_array_unref);
    g_free(why->name);
    g_free(why);
}
