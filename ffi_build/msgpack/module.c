/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native MessagePack codec: the C source of cpkg._native._msgpack_ffi.
 *
 * CPython gets an object packer and unpacker written against the C API (one crossing of cffi per object would cost
 * more than the packing). PyPy, where C cannot make objects, gets the token tape and the scanner; CPython has them for the tests.
 * The parts are included in the order in which they build on each other.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack/version_master.h>

#define CPKG_STRING(x) #x
#define CPKG_VALUE(x) CPKG_STRING(x)

static const char *cpkg_msgpack_version(void)
{
    return CPKG_VALUE(MSGPACK_VERSION_MAJOR) "." CPKG_VALUE(MSGPACK_VERSION_MINOR) "." CPKG_VALUE(
        MSGPACK_VERSION_REVISION);
}

#ifndef PYPY_VERSION
#include "common/compat.h"    /* what differs between CPython versions */
#include "unpack/huge_pages.c"    /* huge pages */
#include "common/state.c"     /* what import sets up: shared types, tables */
#include "common/options.c"   /* keyword arguments */
#include "pack/writer.c"    /* the growing output, and msgpack-c's packing templates over it */
#include "pack/encode.c"      /* objects to bytes */
#include "pack/packer_type.c"    /* packb, pack, pack_into and the type Packer */
#include "unpack/text.c"      /* UTF-8 to str, and the key cache */
#include "unpack/parser_state.c"    /* bytes to objects: the resumable parser's state and its leaf values */
#include "unpack/parse_loop.c"     /* ... and its loop */
#include "unpack/functions.c"    /* unpackb, unpackb_from and unpack */
#include "unpack/unpacker_type.c"  /* the type Unpacker */
#include "install.c"   /* into the namespace */
#else
static int cpkg_msgpack_install(void *namespace_dict)
{
    (void)namespace_dict;
    return -1;
}

static const char *cpkg_msgpack_error(void)
{
    return "the object packer and unpacker need CPython's C API";
}

static const char *cpkg_msgpack_packer_signature(void)
{
    return "()";
}

static const char *cpkg_msgpack_unpacker_signature(void)
{
    return "()";
}
#endif

#include "pypy/tape.c" /* messages as flat arrays of words */
#include "pypy/scan.c" /* ... and where they end */
#include "unpack/weigh.c" /* ... and what their objects take */
