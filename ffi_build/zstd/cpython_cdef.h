/* SPDX-License-Identifier: Apache-2.0 */
/* What zstd/module.c adds to libzstd on CPython, for API mode only. */

/* Put the builtins into a module, given by its address; return 0, or -1: cpkg_builtins_error() says why. */
int cpkg_add_builtins(void *module);
const char *cpkg_builtins_error(void);

/* The contexts that a thread keeps: taken ones are without parameters, or NULL for want of memory. */
ZSTD_CCtx *cpkg_take_cctx(void);
ZSTD_DCtx *cpkg_take_dctx(void);
void cpkg_give_cctx(ZSTD_CCtx *cctx);
void cpkg_give_dctx(ZSTD_DCtx *dctx);
