/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native MessagePack codec: the C source of cpkg._native._msgpack_ffi.
 *
 * For CPython, the packer and the unpacker use the C API (calling cffi once per object would cost more than packing).
 * On PyPy, where C cannot create objects, C converts messages to marshal's bytes and back, scans streams and arranges
 * rows. Each part includes the parts that it needs, so that it can be read and compiled alone.
 */
#ifndef CPKG_MSGPACK_MODULE
#define CPKG_MSGPACK_MODULE

#include <msgpack/version_master.h>

#define CPKG_STRING(x) #x
#define CPKG_VALUE(x) CPKG_STRING(x)

static const char *cpkg_msgpack_version(void)
{
    return CPKG_VALUE(MSGPACK_VERSION_MAJOR) "." CPKG_VALUE(MSGPACK_VERSION_MINOR) "." CPKG_VALUE(
        MSGPACK_VERSION_REVISION);
}

#ifndef PYPY_VERSION
#include "install.c" /* includes the packer and the unpacker */
#else
static int cpkg_msgpack_install(void *Py_UNUSED(module))
{
    return -1;
}

static const char *cpkg_msgpack_error(void)
{
    return "the object packer and unpacker need CPython's C API";
}
#endif

#if defined(PYPY_VERSION) || defined(CPKG_ALL_PARTS)
#include "pypy/from_marshal.c"
#include "pypy/number_lists.c"
#include "pypy/rows.c"
#include "pypy/scan.c"
#include "pypy/to_marshal.c"
#endif
#include "unpack/starts.c"
#include "unpack/weigh.c"

#endif
