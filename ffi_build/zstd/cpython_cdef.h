/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of zstd/module.c that exist only on CPython; only for cffi's API mode. */

/* Add the builtins to the module at the address `module`; return 0, or -1 and keep the error for
   cpkg_builtins_error(). */
int cpkg_add_builtins(void *module);
const char *cpkg_builtins_error(void);

/* Take and give the contexts that a thread keeps. A taken context has no parameters; NULL means that there is no
   memory. */
ZSTD_CCtx *cpkg_take_cctx(void);
ZSTD_DCtx *cpkg_take_dctx(void);
void cpkg_give_cctx(ZSTD_CCtx *cctx);
void cpkg_give_dctx(ZSTD_DCtx *dctx);
