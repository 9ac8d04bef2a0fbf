/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of libzstd that are used. Except for the last function, they are stable since 1.4.8. cffi's ABI mode also
 * reads this file, without a compiler that knows libzstd's headers. So constants have values here, and enum arguments
 * are ints. In API mode, the compiler checks everything against the headers.
 */

typedef struct ZSTD_CCtx_s ZSTD_CCtx;
typedef struct ZSTD_DCtx_s ZSTD_DCtx;
typedef struct ZSTD_CDict_s ZSTD_CDict;
typedef struct ZSTD_DDict_s ZSTD_DDict;

typedef struct ZSTD_inBuffer_s {
    const void *src;
    size_t size;
    size_t pos;
} ZSTD_inBuffer;

typedef struct ZSTD_outBuffer_s {
    void *dst;
    size_t size;
    size_t pos;
} ZSTD_outBuffer;

typedef struct {
    size_t error;
    int lowerBound;
    int upperBound;
} ZSTD_bounds;

typedef struct {
    int compressionLevel;
    unsigned notificationLevel;
    unsigned dictID;
} ZDICT_params_t;

unsigned ZSTD_versionNumber(void);
const char *ZSTD_versionString(void);

unsigned ZSTD_isError(size_t code);
const char *ZSTD_getErrorName(size_t code);
int ZSTD_getErrorCode(size_t code);

int ZSTD_minCLevel(void);
int ZSTD_maxCLevel(void);
ZSTD_bounds ZSTD_cParam_getBounds(int param);
ZSTD_bounds ZSTD_dParam_getBounds(int param);

size_t ZSTD_compressBound(size_t srcSize);
ZSTD_CCtx *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(ZSTD_CCtx *cctx);
size_t ZSTD_sizeof_CCtx(const ZSTD_CCtx *cctx);
size_t ZSTD_CCtx_reset(ZSTD_CCtx *cctx, int reset);
size_t ZSTD_CCtx_setParameter(ZSTD_CCtx *cctx, int param, int value);
size_t ZSTD_CCtx_setPledgedSrcSize(ZSTD_CCtx *cctx, unsigned long long pledgedSrcSize);
size_t ZSTD_CCtx_loadDictionary(ZSTD_CCtx *cctx, const void *dict, size_t dictSize);
size_t ZSTD_CCtx_refCDict(ZSTD_CCtx *cctx, const ZSTD_CDict *cdict);
size_t ZSTD_CCtx_refPrefix(ZSTD_CCtx *cctx, const void *prefix, size_t prefixSize);
size_t ZSTD_compress2(ZSTD_CCtx *cctx, void *dst, size_t dstCapacity, const void *src, size_t srcSize);
size_t ZSTD_compressStream2(ZSTD_CCtx *cctx, ZSTD_outBuffer *output, ZSTD_inBuffer *input, int endOp);
ZSTD_CDict *ZSTD_createCDict(const void *dictBuffer, size_t dictSize, int compressionLevel);
size_t ZSTD_freeCDict(ZSTD_CDict *cdict);
size_t ZSTD_sizeof_CDict(const ZSTD_CDict *cdict);

ZSTD_DCtx *ZSTD_createDCtx(void);
size_t ZSTD_freeDCtx(ZSTD_DCtx *dctx);
size_t ZSTD_sizeof_DCtx(const ZSTD_DCtx *dctx);
size_t ZSTD_DCtx_reset(ZSTD_DCtx *dctx, int reset);
size_t ZSTD_DCtx_setParameter(ZSTD_DCtx *dctx, int param, int value);
size_t ZSTD_DCtx_loadDictionary(ZSTD_DCtx *dctx, const void *dict, size_t dictSize);
size_t ZSTD_DCtx_refDDict(ZSTD_DCtx *dctx, const ZSTD_DDict *ddict);
size_t ZSTD_DCtx_refPrefix(ZSTD_DCtx *dctx, const void *prefix, size_t prefixSize);
size_t ZSTD_decompressDCtx(ZSTD_DCtx *dctx, void *dst, size_t dstCapacity, const void *src, size_t srcSize);
size_t ZSTD_decompressStream(ZSTD_DCtx *dctx, ZSTD_outBuffer *output, ZSTD_inBuffer *input);
ZSTD_DDict *ZSTD_createDDict(const void *dictBuffer, size_t dictSize);
size_t ZSTD_freeDDict(ZSTD_DDict *ddict);
size_t ZSTD_sizeof_DDict(const ZSTD_DDict *ddict);

unsigned long long ZSTD_getFrameContentSize(const void *src, size_t srcSize);
size_t ZSTD_findFrameCompressedSize(const void *src, size_t srcSize);
unsigned ZSTD_getDictID_fromFrame(const void *src, size_t srcSize);

size_t ZDICT_trainFromBuffer(void *dictBuffer, size_t dictBufferCapacity, const void *samplesBuffer,
                             const size_t *samplesSizes, unsigned nbSamples);
size_t ZDICT_finalizeDictionary(void *dstDictBuffer, size_t maxDictSize, const void *dictContent,
                                size_t dictContentSize, const void *samplesBuffer, const size_t *samplesSizes,
                                unsigned nbSamples, ZDICT_params_t parameters);
unsigned ZDICT_isError(size_t errorCode);

/*
 * Not stable, although unchanged since 1.4.0. cpkg/_native/zstd/fast_cover.py looks up the function only when it is
 * called, because a library may lack it.
 */
typedef struct {
    unsigned k;
    unsigned d;
    unsigned f;
    unsigned steps;
    unsigned nbThreads;
    double splitPoint;
    unsigned accel;
    unsigned shrinkDict;
    unsigned shrinkDictMaxRegression;
    ZDICT_params_t zParams;
} ZDICT_fastCover_params_t;

size_t ZDICT_optimizeTrainFromBuffer_fastCover(void *dictBuffer, size_t dictBufferCapacity, const void *samplesBuffer,
                                               const size_t *samplesSizes, unsigned nbSamples,
                                               ZDICT_fastCover_params_t *parameters);
