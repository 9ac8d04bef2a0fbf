/* SPDX-License-Identifier: Apache-2.0 */
/* What zstd/module.c adds to libzstd on every interpreter, for API mode only. */

void cpkg_advise_huge_pages(void *start, size_t size);
void cpkg_copy(void *target, const void *source, size_t size);

/* Frames that threads of C's compress or decompress ahead (zstd/ahead.c). */
typedef struct cpkg_ahead_s cpkg_ahead;
typedef struct cpkg_job_s cpkg_job;
cpkg_ahead *cpkg_ahead_new(int compresses);
int cpkg_ahead_start(cpkg_ahead *ahead, void *context);
void cpkg_ahead_lend(cpkg_ahead *ahead, void *context);
int cpkg_ahead_is_lent(const cpkg_ahead *ahead);
void cpkg_ahead_free(cpkg_ahead *ahead);
cpkg_job *cpkg_ahead_job(cpkg_ahead *ahead);
void cpkg_job_clear(cpkg_job *job);
size_t cpkg_job_size(const cpkg_job *job);
const char *cpkg_job_input(const cpkg_job *job);
int cpkg_job_put(cpkg_job *job, size_t at, const char *data, size_t start, size_t size);
int cpkg_job_read(cpkg_job *job, int descriptor, int64_t offset, size_t size);
void cpkg_job_expect(cpkg_job *job, size_t size, void *then, void *state, int64_t count);
void cpkg_ahead_submit(cpkg_ahead *ahead, cpkg_job *job, size_t size);
const char *cpkg_ahead_do(cpkg_ahead *ahead, cpkg_job *job, size_t size);
const char *cpkg_ahead_wait(cpkg_ahead *ahead, cpkg_job *job);
