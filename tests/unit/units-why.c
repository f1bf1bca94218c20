/* Trees of named contributions: an inner node is the sum of its parts. */
#include "config.h"

#include "units/why.h"

static void
test_sum(void)
{
    g_autoptr(Why) root = why_new("iteration", 0);
    Why *compute = why_new("compute", 0);
    why_add(compute, why_new("gemm", 3));
    why_add(compute, why_new("attention", 2));
    why_add(root, compute);
    why_add(root, why_new("bubble", 1));
    g_assert_cmpfloat(compute->value, ==, 5);
    g_assert_cmpfloat(root->value, ==, 6);
    g_assert_cmpuint(root->parts->len, ==, 2);
    const Why *first = g_ptr_array_index(root->parts, 0);
    g_assert_cmpstr(first->name, ==, "compute");
}

static void
test_leaf(void)
{
    g_autoptr(Why) leaf = why_new("alone", 1.5);
    g_assert_null(leaf->parts);
    g_assert_cmpfloat(leaf->value, ==, 1.5);
    why_free(NULL);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/units/why/inner-node-is-the-sum-of-its-parts", test_sum);
    g_test_add_func("/units/why/leaf-has-no-parts", test_leaf);
    return g_test_run();
}
