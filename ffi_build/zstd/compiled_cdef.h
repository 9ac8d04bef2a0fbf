/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of zstd/module.c that exist on every interpreter; only for cffi's API mode. */

void cpkg_advise_huge_pages(void *start, size_t size);
void cpkg_copy(void *target, const void *source, size_t size);

/* Frames that C threads compress or decompress (zstd/frame_queue.c). */
typedef struct cpkg_frames_s cpkg_frames;
typedef struct cpkg_job_s cpkg_job;
cpkg_frames *cpkg_frames_new(int compresses, const int *pairs, size_t parameters, const char *dictionary,
                             size_t dictionary_size);
int cpkg_frames_start(cpkg_frames *frames, int wanted);
void cpkg_frames_close(cpkg_frames *frames);
void cpkg_frames_free(cpkg_frames *frames);
cpkg_job *cpkg_frames_job(cpkg_frames *frames);
void cpkg_job_let_go(cpkg_job *job);
size_t cpkg_job_size(const cpkg_job *job);
const char *cpkg_job_input(const cpkg_job *job);
const char *cpkg_job_output(const cpkg_job *job);
int cpkg_job_put(cpkg_job *job, size_t at, const char *data, size_t start, size_t size);
int cpkg_job_expect(cpkg_job *job, size_t size);
int cpkg_job_read_frames(cpkg_job *job, int descriptor, const int64_t *numbers, size_t count);
void *cpkg_job_make(cpkg_job *job, void *(*new_made)(void), void (*free_made)(void *),
                    void (*then)(void *, const char *, size_t, int64_t), int64_t count);
void cpkg_frames_submit(cpkg_frames *frames, cpkg_job *job, size_t size);
const char *cpkg_frames_do(cpkg_frames *frames, cpkg_job *job, size_t size);
int cpkg_frames_wait(cpkg_frames *frames, const cpkg_job *job);
