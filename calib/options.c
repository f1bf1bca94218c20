/* Parses the command line; no GLib here. */
#include "config.h"

#include "calib/options.h"

#include "calib/case.h"
#include "calib/row.h"

#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BUDGET_S 600

static const char help[] =
    "Usage: dtsim-calibrate -o DIR [OPTION...]\n"
    "Measures this machine's GPUs and links; DIR is then a system for dtsim: dtsim --system DIR.\n"
    "\n"
    "  -o, --output=DIR        where tables and system.conf go; made when it is not there\n"
    "      --shapes=FILE       shapes to measure first, as 'dtsim shapes' prints them\n"
    "      --budget=TIME       stop after so long: 90s, 10min, 2h (10min)\n"
    "      --only=KIND,...     of gemm, memory, attention, collective, overlap (all)\n"
    "      --dtypes=TYPE,...   of grids: fp32, tf32, fp16, bf16, fp8 (what this GPU trains in)\n"
    "      --resume            go on in a DIR that holds measurements of this machine\n"
    "      --name=NAME         of the system, in the files' first lines (last part of DIR)\n"
    "      --dry-run           print what would be measured and for how long; needs no GPU\n"
    "      --rank=R --world=N --rendezvous=FILE\n"
    "                          process R of N, which find each other in a file that all see;\n"
    "                          not needed below mpirun or srun\n"
    "  -h, --help              this text\n"
    "      --version           version\n"
    "\n"
    "Interrupted, it keeps what it measured: start it again with --resume.\n"
    "Exit status: 0 done; 1 a measurement failed or was interrupted; 2 bad usage; 77 no GPU.\n";

enum {
    OPTION_SHAPES = 256,
    OPTION_BUDGET,
    OPTION_ONLY,
    OPTION_DTYPES,
    OPTION_RESUME,
    OPTION_NAME,
    OPTION_DRY_RUN,
    OPTION_RANK,
    OPTION_WORLD,
    OPTION_RENDEZVOUS,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"shapes", required_argument, NULL, OPTION_SHAPES},
    {"budget", required_argument, NULL, OPTION_BUDGET},
    {"only", required_argument, NULL, OPTION_ONLY},
    {"dtypes", required_argument, NULL, OPTION_DTYPES},
    {"resume", no_argument, NULL, OPTION_RESUME},
    {"name", required_argument, NULL, OPTION_NAME},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"rank", required_argument, NULL, OPTION_RANK},
    {"world", required_argument, NULL, OPTION_WORLD},
    {"rendezvous", required_argument, NULL, OPTION_RENDEZVOUS},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

__attribute__((format(printf, 2, 3))) static bool
complain(CalibError *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool
calib_options_seconds(const char *text, double *ret)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
    char *end;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || !(number > 0))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0) {
            *ret = number * units[i].seconds;
            return true;
        }
    return false;
}

/* Words with commas between; `ret` has a flag for each that `find` knows. */
static bool
read_list(const char *option, char *text, int (*find)(const char *), const char *all, bool *ret,
          CalibError *error)
{
    enum { MOST = 16 };
    char *words[MOST];
    unsigned n = calib_split(text, ',', words, MOST);
    for (unsigned i = 0; i < n && i < MOST; i++) {
        int which = find(words[i]);
        if (which < 0)
            return complain(error, "--%s: '%s' is none; write some of %s with commas between",
                            option, words[i], all);
        ret[which] = true;
    }
    return true;
}

static bool
read_count(const char *option, const char *text, int least, int *ret, CalibError *error)
{
    if (calib_parse_int(text, ret) && *ret >= least)
        return true;
    return complain(error, "--%s: '%s' is no number; write a whole number from %d on", option, text,
                    least);
}

static bool
read_option(int option, char *text, CalibOptions *o, CalibError *error)
{
    switch (option) {
    case 'o':
        o->directory = text;
        return true;
    case OPTION_SHAPES:
        o->shapes = text;
        return true;
    case OPTION_BUDGET:
        return calib_options_seconds(text, &o->budget_s) ||
               complain(error, "--budget: '%s' is no time; write for example 10min", text);
    case OPTION_ONLY:
        memset(o->kinds, 0, sizeof o->kinds);
        return read_list("only", text, calib_kind_find,
                         "gemm, memory, attention, collective, overlap", o->kinds, error);
    case OPTION_DTYPES:
        memset(o->dtypes, 0, sizeof o->dtypes);
        o->dtypes_given = true;
        return read_list("dtypes", text, calib_dtype_find, "fp32, tf32, fp16, bf16, fp8", o->dtypes,
                         error);
    case OPTION_RESUME:
        o->resume = true;
        return true;
    case OPTION_NAME:
        o->name = text;
        return true;
    case OPTION_DRY_RUN:
        o->dry_run = true;
        return true;
    case OPTION_RANK:
        return read_count("rank", text, 0, &o->launch.rank, error);
    case OPTION_WORLD:
        return read_count("world", text, 1, &o->launch.world, error);
    case OPTION_RENDEZVOUS:
        o->launch.rendezvous = text;
        return true;
    default:
        return false;
    }
}

static bool
check(const CalibOptions *o, CalibError *error)
{
    const CalibLaunch *l = &o->launch;
    if (o->directory == NULL && !o->dry_run)
        return complain(error, "-o is missing; write -o DIR, where the tables go");
    if (o->directory != NULL && *o->directory == '\0')
        return complain(error, "-o: '' is no folder; write -o DIR");
    if ((l->rank >= 0) != (l->world >= 0) || (l->rank >= 0) != (l->rendezvous != NULL))
        return complain(error, "--rank, --world and --rendezvous belong together; write all three");
    if (l->rank >= 0 && l->rank >= l->world)
        return complain(error, "--rank: %d is not one of %d; write 0 to %d", l->rank, l->world,
                        l->world - 1);
    return true;
}

CalibOptionsStatus
calib_options_parse(int argc, char **argv, CalibOptions *ret, CalibError *error)
{
    CalibOptions o = {.budget_s = DEFAULT_BUDGET_S, .launch = {.rank = -1, .world = -1}};
    for (int kind = 0; kind < CALIB_N_CASES; kind++)
        o.kinds[kind] = true;
    optind = 0; /* anew, also of a second command line in one process */
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":o:h", long_options, NULL)) != -1;) {
        if (c == 'h' || c == OPTION_VERSION) {
            fputs(c == 'h' ? help : "dtsim-calibrate " PACKAGE_VERSION "\n", stdout);
            return CALIB_OPTIONS_SHOWN;
        }
        if (c == '?' || c == ':') {
            complain(error, "%s: %s; see --help", argv[optind - 1],
                     c == ':' ? "needs a value" : "no such option");
            return CALIB_OPTIONS_WRONG;
        }
        if (!read_option(c, optarg, &o, error))
            return CALIB_OPTIONS_WRONG;
    }
    if (optind < argc)
        complain(error, "'%s' is no option; see --help", argv[optind]);
    if (optind < argc || !check(&o, error))
        return CALIB_OPTIONS_WRONG;
    *ret = o;
    return CALIB_OPTIONS_RUN;
}
