/* SPDX-License-Identifier: Apache-2.0 */
/* Without the GIL an object's own lock guards its fields; with it nothing gives it up in such a section. */
#ifndef CPKG_ZSTD_CRITICAL_SECTION
#define CPKG_ZSTD_CRITICAL_SECTION

#include <Python.h>

#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

#endif
