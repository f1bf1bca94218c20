/* Schedules in units of time: the results of textbook mode, and the list of schedules. */
#pragma once

#include "schedule/schedule.h"

/* One schedule tried. Times are in the unit in which the durations were given. */
typedef struct {
    const char *name;      /* borrowed */
    ScheduleParams params;
    char *refused;         /* owned: why not; NULL: it ran, and what follows is set */
    double makespan, busy_max, max_span;
    double bubble_fraction, bubble_over_ideal;
    double closed_form;    /* makespan by the schedule's formula; NAN: it has none */
    double *idle, *span;   /* owned, [pp] */
    guint *peak_input_grad, *peak_weight_grad; /* owned, [pp] */
    char *picture;         /* owned: lines of text, or NULL */
} ReportTextbook;

void report_textbook_free(ReportTextbook *t);

/* `rows`: of ReportTextbook*. `units`: the durations in words. `format` as --format. */
void report_textbook(const GPtrArray *rows, const char *units, const char *format, GString *out);
/* What schedules there are. */
void report_schedule_types(const char *format, GString *out);
