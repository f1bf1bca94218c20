/* dtsim-calibrate: measures GPUs and links, and writes a system directory for dtsim. */
#include "config.h"

#include "calib/command.h"

int
main(int argc, char **argv)
{
    return calib_command(argc, argv, calib_backend_open);
}
