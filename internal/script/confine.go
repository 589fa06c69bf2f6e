package script

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits that do not depend on the request. The runtime of this binary maps much more address
// space than it uses, so what it has at the start does not count.
const (
	dataMiB  = (MemoryMiB + 64) * raceFactor
	spaceMiB = 1024 * raceFactor
	// firstUID is where the users of script processes begin. Each has its own, so that limits
	// per user count for one process only, and two scripts cannot signal each other. No
	// distribution gives out users up there.
	firstUID = 1_900_000_000
	users    = 1 << 26
	nobody   = 65534
)

// confineProcess gives up everything that a script does not need: other users' rights, new rights,
// and all system calls but those of a program that computes, reads stdin and writes stdout.
// It must succeed before foreign code is read.
func confineProcess() error {
	// The runtime makes its poller with the first timer, and may not make it later.
	time.NewTimer(time.Hour).Stop()
	os.Clearenv()
	var err error
	if err = readMemoryAtStart(); err != nil {
		return fmt.Errorf("read the memory that is used already: %w", err)
	}
	own, err := dropUser()
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("refuse dumps: %w", err)
	}
	// A change of the user has cleared what the parent asked for: to end with it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the parent: %w", err)
	}
	limits := map[int]uint64{
		unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: 16,
		unix.RLIMIT_MEMLOCK: 0, unix.RLIMIT_MSGQUEUE: 0,
	}
	if own {
		limits[unix.RLIMIT_NPROC] = 64
	}
	for which, most := range limits {
		if err := setLimit(which, most); err != nil {
			return fmt.Errorf("limit resource %d: %w", which, err)
		}
	}
	if err := allowOnlyComputing(); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return checkConfined()
}

// dropUser leaves root for a user of its own, and reports whether nobody else has it. Where
// the kernel does not know such a user (in a container with few users), nobody does.
func dropUser() (own bool, err error) {
	if os.Geteuid() != 0 {
		return false, nil
	}
	if err := syscall.Setgroups(nil); err != nil && !errors.Is(err, unix.EPERM) {
		return false, fmt.Errorf("leave groups: %w", err)
	}
	//nolint:gosec // It need not be secret, only rarely the same twice.
	for _, id := range []int{firstUID + rand.IntN(users), nobody} {
		if err = syscall.Setresgid(id, id, id); err != nil {
			continue
		}
		if err = syscall.Setresuid(id, id, id); err == nil {
			return id != nobody, nil
		}
	}
	return false, fmt.Errorf("leave root: %w", err)
}

// limitResources sets the limits that depend on the request.
func limitResources(r Request) error {
	seconds := uint64(r.Limit()/time.Second) + 1
	for which, most := range map[int]uint64{
		// Two threads may run at a time, and the collector is one of them.
		unix.RLIMIT_CPU:  2*seconds + 2,
		unix.RLIMIT_DATA: dataAtStart + dataMiB<<20,
		unix.RLIMIT_AS:   spaceAtStart + spaceMiB<<20,
	} {
		if err := setLimit(which, most); err != nil {
			return err
		}
	}
	return nil
}

func setLimit(which int, most uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(which, &now); err != nil {
		return err
	}
	most = min(most, now.Max)
	return unix.Setrlimit(which, &unix.Rlimit{Cur: most, Max: most})
}

// spaceAtStart and dataAtStart are how much address space and how much private memory the
// process had when it began, in bytes. They are read while files can still be opened.
var spaceAtStart, dataAtStart uint64

func readMemoryAtStart() error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 6 {
		return errors.New("/proc/self/statm is not what it should be")
	}
	for i, to := range map[int]*uint64{0: &spaceAtStart, 5: &dataAtStart} {
		pages, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return err
		}
		*to = pages * uint64(os.Getpagesize())
	}
	return nil
}

// checkConfined tries what must fail now. A filter that does not work is worse than none.
func checkConfined() error {
	if fd, err := unix.Open("/", unix.O_RDONLY, 0); err == nil {
		_ = unix.Close(fd)
		return errors.New("files can still be opened")
	}
	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err == nil {
		_ = unix.Close(fd)
		return errors.New("sockets can still be opened")
	}
	return nil
}
