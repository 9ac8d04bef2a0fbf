/* SPDX-License-Identifier: Apache-2.0 */
/* What zstd/module.c adds to libzstd, for API mode only. */

void cpkg_advise_huge_pages(void *start, size_t size);
int cpkg_add_builtins(void *target);
