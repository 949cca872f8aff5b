/* SPDX-License-Identifier: Apache-2.0
 * Loaded before the C library of the service, this makes a folder seem to lie on a disk that is
 * full, for tests where no small file system may be mounted: while there is FULL_DISK/filler, files
 * below FULL_DISK take 1 MiB more and then nothing, as write(2) has it: less than requested,
 * then ENOSPC.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };

static atomic_long taken;

/* How many of these bytes the file takes. */
static size_t fits(int fd, size_t bytes)
{
    const char *folder = getenv("FULL_DISK");
    char link[64], path[PATH_MAX], filler[PATH_MAX];
    if (folder == NULL)
        return bytes;
    size_t under = strlen(folder);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    if (length <= (ssize_t)under || memcmp(path, folder, under) != 0 || path[under] != '/')
        return bytes;
    snprintf(filler, sizeof filler, "%s/filler", folder);
    if (access(filler, F_OK) != 0)
        return bytes;
    long left = ROOM - atomic_fetch_add(&taken, (long)bytes);
    if (left <= 0)
        return 0;
    return (size_t)left < bytes ? (size_t)left : bytes;
}

static ssize_t no_room(void)
{
    errno = ENOSPC;
    return -1;
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    size_t some = fits(fd, bytes);
    return bytes > 0 && some == 0 ? no_room() : next(fd, from, some);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at)
{
    ssize_t (*next)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    size_t some = fits(fd, bytes);
    return bytes > 0 && some == 0 ? no_room() : next(fd, from, some, at);
}

ssize_t writev(int fd, const struct iovec *from, int count)
{
    ssize_t (*next)(int, const struct iovec *, int) = dlsym(RTLD_NEXT, "writev");
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += from[i].iov_len;
    size_t some = fits(fd, bytes);
    if (some == bytes)
        return next(fd, from, count);
    if (some == 0)
        return no_room();
    while (from->iov_len == 0)
        from++;
    struct iovec first = { from->iov_base, from->iov_len < some ? from->iov_len : some };
    return next(fd, &first, 1);
}
