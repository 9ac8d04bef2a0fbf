/* SPDX-License-Identifier: Apache-2.0 */
/* What zstd/module.c adds to libzstd on every interpreter, for API mode only. */

void cpkg_advise_huge_pages(void *start, size_t size);
void cpkg_copy(void *target, const void *source, size_t size);
