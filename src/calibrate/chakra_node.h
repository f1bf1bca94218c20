/* A node of a Chakra execution trace, from its message.
 *
 * Numbers of fields, types and collectives are those of et_def.proto (https://github.com/mlcommons/chakra,
 * schema/protobuf), in all of its versions since attributes have a value of one type: 0.0.1 to 0.0.4 and what came after. */
#pragma once

#include "calibrate/protobuf.h"

typedef enum {
    CALIBRATE_CHAKRA_INVALID,
    CALIBRATE_CHAKRA_METADATA,
    CALIBRATE_CHAKRA_LOAD,
    CALIBRATE_CHAKRA_STORE,
    CALIBRATE_CHAKRA_COMPUTE,
    CALIBRATE_CHAKRA_SEND,
    CALIBRATE_CHAKRA_RECV,
    CALIBRATE_CHAKRA_COLLECTIVE,
    CALIBRATE_CHAKRA_STORAGE,
    CALIBRATE_CHAKRA_OTHER, /* of schemas to come */
    CALIBRATE_CHAKRA_N_TYPES
} CalibrateChakraType;
const char *calibrate_chakra_type_name(CalibrateChakraType type);

/* Texts of IOInfo, which stay packed. */
enum {
    CALIBRATE_CHAKRA_VALUES,
    CALIBRATE_CHAKRA_SHAPES,
    CALIBRATE_CHAKRA_TYPES,
    CALIBRATE_CHAKRA_N_INPUTS
};

/* What is kept of one; texts are the node's own, until the next is read into it. */
typedef struct {
    CalibrateChakraType type;
    guint64 start_us, duration_us; /* 0: it does not say */
    guint64 parent;                /* the first of its control dependencies */
    gboolean has_parent;
    gboolean on_cpu;         /* is_cpu_op: an op of the host */
    gint64 comm_type, bytes; /* comm_type, comm_size; -1: it does not say */
    gint64 stream;           /* -1: it does not say */
    GString *name;           /* of the kernel or op */
    GString *schema;         /* op_schema of the op that launched it */
    GString *group;          /* pg_name */
    GString *values, *shapes,
        *types; /* of inputs, as Python prints lists, once they are unpacked */
    struct {
        const guint8 *bytes;
        gsize n;
    } packed[CALIBRATE_CHAKRA_N_INPUTS]; /* these in the message, in this order; bytes NULL: none */
} CalibrateChakraNode;
void calibrate_chakra_node_init(CalibrateChakraNode *node);
void calibrate_chakra_node_clear(CalibrateChakraNode *node);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CalibrateChakraNode, calibrate_chakra_node_clear)

/* FALSE: the message has a fault, and its `at` is where. Inputs, which are long and mostly of no interest, stay packed. */
gboolean calibrate_chakra_node_read(CalibrateMessage *message, CalibrateChakraNode *node);

/* Inputs of a node that has just been read, while its message is there. */
void calibrate_chakra_node_unpack(CalibrateChakraNode *node);

/* A message of AttributeProto. */
typedef struct {
    const guint8 *name, *text; /* borrowed, no NUL; text NULL: it is none */
    gsize n_name, n_text;
    gboolean has_number;
    gint64 number;
} CalibrateChakraAttr;
gboolean calibrate_chakra_attr_read(CalibrateMessage *message, CalibrateChakraAttr *ret);
gboolean calibrate_chakra_attr_is(const CalibrateChakraAttr *attr, const char *name);

/* "all_reduce" of comm_type 0; NULL: none that is known. */
const char *calibrate_chakra_collective(gint64 comm_type);

/* Elements of a list as Python prints it, "[[2, 3], 'a', 1]": with a tab between them, without quotes and without
 * spaces inside; "" where it is no list. Appends to `out`. */
void calibrate_chakra_elements(const char *list, GString *out);
