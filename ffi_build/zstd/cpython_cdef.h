/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that zstd/module.c adds to libzstd on CPython; for API mode only. */

/* Add the builtins to the module at that address; return 0, or -1 and keep the error for cpkg_builtins_error(). */
int cpkg_add_builtins(void *module);
const char *cpkg_builtins_error(void);

/* The contexts that a thread keeps; a taken context has no parameters, or is NULL if there is no memory. */
ZSTD_CCtx *cpkg_take_cctx(void);
ZSTD_DCtx *cpkg_take_dctx(void);
void cpkg_give_cctx(ZSTD_CCtx *cctx);
void cpkg_give_dctx(ZSTD_DCtx *dctx);
