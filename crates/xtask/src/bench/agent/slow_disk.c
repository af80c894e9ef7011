/* Preloaded into the agent by `cargo xtask bench agent --fsync-ms`: every sync takes as long as a slow disk takes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void be_slow(void) {
    const char *text = getenv("MUSTER_BENCH_FSYNC_MS");
    long ms = text ? atol(text) : 0;
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

int fsync(int fd) {
    be_slow();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    be_slow();
    return (int)syscall(SYS_fdatasync, fd);
}
