/* Preloaded before libc: counts the calls that change files below a directory, whichever library
 * makes them (Python, tantivy, usearch). At the n-th call it kills the process group, or makes the
 * call fail. With a log, it records each operation with its data, in the order in which they
 * happened. It does nothing before `shim_arm` is called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__
static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8};
#define ARGUMENT(machine, n) ((machine)->gregs[registers[n]])
#define RESULT(machine) ((machine)->gregs[REG_RAX])
#else
#define ARGUMENT(machine, n) ((machine)->regs[n])
#define RESULT(machine) ((machine)->regs[0])
#endif
#define OURS 0x5e1f /* a sixth argument, which rename has not, marks the shim's own calls */

enum action { COUNT, KILL, FAIL, FAIL_ON, SHORT, SHORT_THEN_FAIL };

static struct {
    char top[PATH_MAX];
    size_t length;
    long at, made;
    enum action action;
    int code, log;
} armed = {.log = -1};
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

static int is_below(const char *path) {
    return armed.length && !strncmp(path, armed.top, armed.length) &&
           (path[armed.length] == '/' || !path[armed.length]);
}

static const char *path_of(int fd, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, PATH_MAX - 1);
    buffer[length < 0 ? 0 : length] = 0;
    return buffer;
}

static const char *path_at(int dir, const char *path, char *buffer) {
    if (path[0] == '/' || dir == AT_FDCWD) return path;
    path_of(dir, buffer);
    size_t length = strlen(buffer);
    snprintf(buffer + length, PATH_MAX - length, "/%s", path);
    return buffer;
}

/* Decide the next operation: 0 goes on, 1 is cut short, -1 fails. */
static int judge(int is_write, int is_removal) {
    long n = ++armed.made;
    if (!armed.at || n < armed.at) return 0;
    int is_full = armed.code == ENOSPC || armed.code == EDQUOT;
    if (armed.action == KILL && n == armed.at) {
        kill(0, SIGKILL);
        for (;;) pause();
    }
    if (armed.action == SHORT) return n == armed.at && is_write;
    if (armed.action == SHORT_THEN_FAIL && n == armed.at) return is_write;
    if (armed.action == FAIL && n != armed.at) return 0;
    if (armed.action < FAIL || (is_full && is_removal)) return 0; /* a full disk allows deletions */
    errno = armed.code;
    return -1;
}

static void record(const char *op, const char *path, const char *to, off_t at,
                         const void *data, size_t size) {
    if (armed.log < 0) return;
    char line[2 * PATH_MAX + 100];
    int length = snprintf(line, sizeof line, "%s%c%s%c%s%c%lld%c%zu%c", op, 0, path, 0, to, 0,
                          (long long)at, 0, size, 0);
    ssize_t (*put)(int, const void *, size_t) = REAL(write);
    if (put(armed.log, line, length) != length) abort();
    for (size_t done = 0; done < size;) {
        ssize_t n = put(armed.log, (const char *)data + done, size - done);
        if (n <= 0) abort();
        done += n;
    }
}

#define NAMED(op, path, to, is_removal, call)          \
    do {                                               \
        pthread_mutex_lock(&turn);                     \
        int made = judge(0, is_removal) < 0 ? -1 : (call); \
        if (made >= 0) {                               \
            int kept = errno;                          \
            record(op, path, to, 0, "", 0);      \
            errno = kept;                              \
        }                                              \
        pthread_mutex_unlock(&turn);                   \
        return made;                                   \
    } while (0)

static ssize_t do_write(int fd, const void *data, size_t size, off_t at, int is_placed,
                       const char *path) {
    pthread_mutex_lock(&turn);
    int verdict = judge(1, 0);
    if (verdict > 0 && size > 1) size /= 2;
    if (!is_placed) {
        int is_appended = fcntl(fd, F_GETFL) & O_APPEND;
        struct stat info;
        at = is_appended && !fstat(fd, &info) ? info.st_size : lseek(fd, 0, SEEK_CUR);
    }
    ssize_t made = -1;
    if (verdict < 0)
        errno = armed.code;
    else
        made = is_placed ? REAL(pwrite)(fd, data, size, at) : REAL(write)(fd, data, size);
    if (made > 0) record("write", path, "", at, data, made);
    pthread_mutex_unlock(&turn);
    return made;
}

ssize_t write(int fd, const void *data, size_t size) {
    char buffer[PATH_MAX];
    if (!armed.length || !is_below(path_of(fd, buffer))) return REAL(write)(fd, data, size);
    return do_write(fd, data, size, 0, 0, buffer);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    char buffer[PATH_MAX];
    if (!armed.length || !is_below(path_of(fd, buffer))) return REAL(pwrite)(fd, data, size, at);
    return do_write(fd, data, size, at, 1, buffer);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return pwrite(fd, data, size, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char buffer[PATH_MAX];
    if (!armed.length || !is_below(path_of(fd, buffer))) return REAL(writev)(fd, parts, count);
    for (int n = 0; n < count; n++) /* a short write, which is legal: only the first part */
        if (parts[n].iov_len)
            return do_write(fd, parts[n].iov_base, parts[n].iov_len, 0, 0, buffer);
    return 0;
}

static int do_open(int dir, const char *path, int flags, mode_t mode) {
    int (*call)(int, const char *, int, ...) = REAL(openat);
    char buffer[PATH_MAX];
    if (!(flags & (O_CREAT | O_TRUNC)) || !armed.length) return call(dir, path, flags, mode);
    const char *whole = path_at(dir, path, buffer);
    if (!is_below(whole)) return call(dir, path, flags, mode);
    NAMED(flags & O_TRUNC ? "truncate" : "create", whole, "", 0, call(dir, path, flags, mode));
}

#define OPEN(name, ...)                        \
    va_list rest;                              \
    va_start(rest, flags);                     \
    mode_t mode = va_arg(rest, mode_t);        \
    va_end(rest);                              \
    return do_open(__VA_ARGS__, path, flags, flags & (O_CREAT | O_TMPFILE) ? mode : 0)

int open(const char *path, int flags, ...) { OPEN(open, AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPEN(open64, AT_FDCWD); }
int openat(int dir, const char *path, int flags, ...) { OPEN(openat, dir); }
int openat64(int dir, const char *path, int flags, ...) { OPEN(openat64, dir); }

static int real_rename(int dir, const char *path, int to_dir, const char *to, unsigned flags) {
    return syscall(SYS_renameat2, dir, path, to_dir, to, flags, OURS);
}

int rename(const char *path, const char *to) {
    if (!is_below(path) && !is_below(to)) return real_rename(AT_FDCWD, path, AT_FDCWD, to, 0);
    NAMED("rename", path, to, 0, real_rename(AT_FDCWD, path, AT_FDCWD, to, 0));
}

static int any_rename(int dir, const char *path, int to_dir, const char *to, unsigned flags) {
    char from_buffer[PATH_MAX], to_buffer[PATH_MAX];
    const char *from = path_at(dir, path, from_buffer), *target = path_at(to_dir, to, to_buffer);
    if (!is_below(from)) return real_rename(dir, path, to_dir, to, flags);
    NAMED("rename", from, target, 0, real_rename(dir, path, to_dir, to, flags));
}

/* tantivy's crate for replacing files renames without libc, and so does libc itself. */
static void on_system_call(int signal, siginfo_t *info, void *context) {
    (void)signal;
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    unsigned flags = info->si_syscall == SYS_renameat2 ? ARGUMENT(machine, 4) : 0;
    int made = any_rename(ARGUMENT(machine, 0), (const char *)ARGUMENT(machine, 1),
                          ARGUMENT(machine, 2), (const char *)ARGUMENT(machine, 3), flags);
    RESULT(machine) = made < 0 ? -errno : made;
}

static int is_trapping(void) {
    struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    unsigned number = offsetof(struct seccomp_data, nr);
    unsigned last = offsetof(struct seccomp_data, args[5]);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, last),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OURS, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return !sigaction(SIGSYS, &action, NULL) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int unlink(const char *path) {
    if (!is_below(path)) return REAL(unlink)(path);
    NAMED("unlink", path, "", 1, REAL(unlink)(path));
}

int unlinkat(int dir, const char *path, int flags) {
    char buffer[PATH_MAX];
    const char *whole = path_at(dir, path, buffer);
    if (!is_below(whole)) return REAL(unlinkat)(dir, path, flags);
    NAMED(flags & AT_REMOVEDIR ? "rmdir" : "unlink", whole, "", 1,
          REAL(unlinkat)(dir, path, flags));
}

int rmdir(const char *path) {
    if (!is_below(path)) return REAL(rmdir)(path);
    NAMED("rmdir", path, "", 1, REAL(rmdir)(path));
}

int mkdir(const char *path, mode_t mode) {
    if (!is_below(path)) return REAL(mkdir)(path, mode);
    NAMED("mkdir", path, "", 0, REAL(mkdir)(path, mode));
}

int mkdirat(int dir, const char *path, mode_t mode) {
    char buffer[PATH_MAX];
    const char *whole = path_at(dir, path, buffer);
    if (!is_below(whole)) return REAL(mkdirat)(dir, path, mode);
    NAMED("mkdir", whole, "", 0, REAL(mkdirat)(dir, path, mode));
}

#define OF_FD(name, op)                                             \
    int name(int fd) {                                              \
        char buffer[PATH_MAX];                                      \
        if (!armed.length || !is_below(path_of(fd, buffer))) return REAL(name)(fd); \
        NAMED(op, buffer, "", 0, REAL(name)(fd));                   \
    }

OF_FD(fsync, "fsync")
OF_FD(fdatasync, "fsync")

int ftruncate(int fd, off_t size) {
    char buffer[PATH_MAX];
    if (!armed.length || !is_below(path_of(fd, buffer))) return REAL(ftruncate)(fd, size);
    pthread_mutex_lock(&turn);
    int made = judge(0, 0) < 0 ? -1 : REAL(ftruncate)(fd, size);
    if (!made) record("ftruncate", buffer, "", size, "", 0);
    pthread_mutex_unlock(&turn);
    return made;
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int shim_arm(const char *top, long at, int action, int code, int log) {
    snprintf(armed.top, sizeof armed.top, "%s", top);
    armed.length = strlen(top);
    armed.at = at;
    armed.action = action;
    armed.code = code;
    armed.log = log;
    armed.made = 0;
    return is_trapping();
}

long shim_made(void) { return armed.made; }
