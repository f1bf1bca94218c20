/* Loads cuDNN. */
#include "config.h"

#ifdef CALIB_CUDNN

#include "calib/cuda_cudnn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ISO C has no conversion from what dlsym returns to a function. */
static bool
find(void *library, const char *name, void *ret_function)
{
    void *found = dlsym(library, name);
    memcpy(ret_function, &found, sizeof found);
    return found != NULL;
}

static bool
find_all(void *library, CalibCudnn *c)
{
    return find(library, "cudnnGetVersion", &c->version) &&
           find(library, "cudnnGetErrorString", &c->text) &&
           find(library, "cudnnCreate", &c->create) && find(library, "cudnnDestroy", &c->destroy) &&
           find(library, "cudnnSetStream", &c->set_stream) &&
           find(library, "cudnnBackendCreateDescriptor", &c->create_descriptor) &&
           find(library, "cudnnBackendDestroyDescriptor", &c->destroy_descriptor) &&
           find(library, "cudnnBackendSetAttribute", &c->set) &&
           find(library, "cudnnBackendGetAttribute", &c->get) &&
           find(library, "cudnnBackendFinalize", &c->finalize) &&
           find(library, "cudnnBackendExecute", &c->execute);
}

bool
calib_cudnn_load(CalibCudnn *ret)
{
    char name[32];
    memset(ret, 0, sizeof *ret);
    snprintf(name, sizeof name, "libcudnn.so.%d", CUDNN_MAJOR);
    if (!find_all(RTLD_DEFAULT, ret)) {
        ret->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (ret->library == NULL)
            return false;
        if (!find_all(ret->library, ret)) {
            calib_cudnn_unload(ret);
            return false;
        }
    }
    if (ret->version() >= CALIB_CUDNN_LEAST)
        return true;
    calib_cudnn_unload(ret);
    return false;
}

void
calib_cudnn_unload(CalibCudnn *cudnn)
{
    if (cudnn->library != NULL)
        dlclose(cudnn->library);
    memset(cudnn, 0, sizeof *cudnn);
}

#endif
