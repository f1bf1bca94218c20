/* Schedules beside each other, in units of time or on real layer times; and the list of them. */
#pragma once

#include "report/certainty.h"
#include "report/gantt.h"
#include "schedule/schedule.h"

typedef enum {
    REPORT_UNIT_F,
    REPORT_UNIT_I,
    REPORT_UNIT_W,
    REPORT_UNIT_PAIR,
    REPORT_UNIT_COMM,
    REPORT_N_UNITS
} ReportUnit;

/* One schedule tried. Times are in the unit in which the durations were given, or in seconds. */
typedef struct {
    char *name; /* owned */
    ScheduleParams params;
    gboolean reconstruction;
    char *refused;                     /* owned: why not; NULL: it ran, and what follows is set */
    guint n_replicas, weight_versions; /* of the model, of the weights: on the rank with most */
    double makespan, busy_max, max_span;
    double bubble_fraction, bubble_over_ideal;
    double closed_form;  /* makespan by the schedule's formula; NAN: it has none */
    double *idle, *span; /* owned, [pp] */
    guint *peak_input_grad, *peak_weight_grad; /* owned, [pp]: chunks alive until I, until W */
    ReportGantt *gantt;                        /* owned */
    /* in units of time */
    double units[REPORT_N_UNITS]; /* of one of its chunks; pair NAN: F + I + W */
    char *picture;                /* owned: lines of text, or NULL */
    /* on real layer times */
    double time_s;
    ReportCertainty certainty;
    GArray *doubts;               /* owned: StepResult.doubts */
    gint64 *peak_memory_bytes;    /* owned, [pp] */
    gint64 peak_bytes, p2p_bytes; /* of the worst rank; sent by one GPU in an iteration */
    guint peak_rank;
    gboolean fits;
} ReportSchedule;

typedef struct {
    gboolean real;    /* on real layer times */
    const char *head; /* sentence: what was run */
    GPtrArray *rows;  /* of ReportSchedule*, in the order in which they are listed */
} ReportSchedules;

void report_schedule_free(ReportSchedule *s);

/* Orders; NULL-terminated. Refused schedules come last, equals stay as listed. */
extern const char *const report_schedule_orders[];
void report_schedules_sort(ReportSchedules *schedules, guint order);
/* One for each row, compared by the iteration's time. Caller frees. */
ReportRival *report_schedules_rivals(const ReportSchedules *schedules);

/* `format` as --format. */
void report_schedules(const ReportSchedules *schedules, const char *format, GString *out);
void report_schedules_text(const ReportSchedules *schedules, GString *out);
/* Gantt charts of all that ran, on one page. */
gboolean report_schedules_plot(const ReportSchedules *schedules, const char *title,
                               const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* What schedules there are. */
void report_schedule_types(const char *format, GString *out);
