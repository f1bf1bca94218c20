/* One line for each failure of NCCL, with what NCCL itself says last. */
#include "config.h"

#include "calib/nccl_error.h"

#include <stdio.h>
#include <string.h>

CalibStatus
calib_nccl_failed(int rank, const char *call, ncclResult_t code, const char *file, int line,
                  CalibError *error)
{
    char reason[256];
    const char *detail = "";
#if NCCL_VERSION_CODE >= 21300
    detail = ncclGetLastError(NULL);
    if (detail == NULL)
        detail = "";
#endif
    snprintf(reason, sizeof reason, "%s%s%.*s", ncclGetErrorString(code),
             *detail != '\0' ? ": " : "", (int)strcspn(detail, "\n"), detail);
    return calib_call_failed(rank, call, reason, file, line, error);
}
