// Preloaded into PostgreSQL by make chaos: its clock is off by as many seconds as the first word
// of the file says that CHAOS_CLOCK names.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *jumped;

__attribute__((constructor)) static void map_clock(void) {
	const char *path = getenv("CHAOS_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof *jumped, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED)
		jumped = page;
	close(fd);
}

int clock_gettime(clockid_t id, struct timespec *now) {
	int code = syscall(SYS_clock_gettime, id, now);
	if (code == 0 && jumped && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		now->tv_sec += *jumped;
	return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	(void)zone;
	struct timespec t;
	int code = clock_gettime(CLOCK_REALTIME, &t);
	now->tv_sec = t.tv_sec;
	now->tv_usec = t.tv_nsec / 1000;
	return code;
}

time_t time(time_t *into) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (into)
		*into = t.tv_sec;
	return t.tv_sec;
}
