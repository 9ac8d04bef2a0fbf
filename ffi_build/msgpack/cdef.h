/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the native MessagePack module that Python calls through cffi; msgpack_build.py reads this file. */

/* The version of msgpack-c whose headers the module was compiled with, "major.minor.revision". */
const char *cpkg_msgpack_version(void);

/* CPython: put the codec's builtins into the module at the address `module`, which must contain the shared types that
   they return (see cpkg/_native/msgpack/cpython.py). Returns 0, or -1 with the error's text in cpkg_msgpack_error(). */
int cpkg_msgpack_install(void *module);
const char *cpkg_msgpack_error(void);

/* CPython and PyPy: find where the objects of a message exceed the memory `limit` (unpack/weigh.c). */
int64_t cpkg_weigh(const char *data, size_t size, int64_t limit, int64_t max_depth);

/* CPython and PyPy: find where consecutive messages begin (unpack/starts.c). */
int64_t cpkg_message_starts(const char *data, size_t size, int64_t *starts, int64_t count);
