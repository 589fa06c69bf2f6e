package script

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataFirst  = 16
	dataSecond = 24
)

// allowed are the system calls of a Go program that computes, reads stdin and writes stdout:
// memory, threads, signals to itself, time.
var allowed = append([]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_MREMAP,
	unix.SYS_BRK, unix.SYS_MINCORE,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_NANOSLEEP,
	unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES,
	unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM, unix.SYS_RESTART_SYSCALL,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL,
	unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}, allowedHere...)

// allowOnlyComputing installs the filter for all threads. Other system calls return EPERM. A
// thread may be made, a process may not; and signals reach this process only. The filter
// forbids new rights permanently.
func allowOnlyComputing() error {
	if arch == 0 {
		return errors.New("scripts do not run on " + runtime.GOARCH)
	}
	filter := newFilter(uint32(unix.Getpid()))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	failed, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	if failed != 0 {
		return errors.New("a thread could not take the filter")
	}
	return nil
}

// newFilter writes the filter of a process: each rule either returns or falls through to the
// next.
func newFilter(pid uint32) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		give  = unix.BPF_RET | unix.BPF_K
		deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		none  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	filter := []unix.SockFilter{
		{Code: load, K: dataArch}, {Code: equal, K: arch, Jt: 1},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: dataNumber},
		// The x32 ABI numbers its calls from here on; it is another way to the same kernel.
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 0x40000000, Jf: 1},
		{Code: give, K: deny},
	}
	for _, number := range allowed {
		filter = append(filter, unix.SockFilter{Code: equal, K: number, Jf: 1},
			unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
	}
	// clone3 hides its flags in memory; the runtime falls back to clone.
	filter = append(filter, unix.SockFilter{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		unix.SockFilter{Code: give, K: none})
	// A clone that makes a thread of this process.
	filter = append(filter, unix.SockFilter{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		unix.SockFilter{Code: load, K: dataFirst},
		unix.SockFilter{Code: bits, K: unix.CLONE_THREAD, Jf: 1},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: give, K: deny})
	// A signal to a thread of this process, with which the runtime preempts goroutines.
	filter = append(filter, unix.SockFilter{Code: equal, K: unix.SYS_TGKILL, Jf: 4},
		unix.SockFilter{Code: load, K: dataFirst},
		unix.SockFilter{Code: equal, K: pid, Jf: 1},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: give, K: deny})
	// Limits of this process only: prlimit64 with process 0.
	filter = append(filter, unix.SockFilter{Code: equal, K: unix.SYS_PRLIMIT64, Jf: 4},
		unix.SockFilter{Code: load, K: dataFirst},
		unix.SockFilter{Code: equal, K: 0, Jf: 1},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: give, K: deny})
	return append(filter, unix.SockFilter{Code: give, K: deny})
}
