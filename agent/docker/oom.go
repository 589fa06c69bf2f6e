package docker

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// oomTries and oomPause: the engine may need up to two seconds to learn from the kernel why
	// a process was killed.
	oomTries = 20
	oomPause = 100 * time.Millisecond
	// kernelLog is where the kernel says whom it killed; maxRecord is the longest
	// record that it hands out.
	kernelLog = "/dev/kmsg"
	maxRecord = 8192
)

// outOfMemory reports whether the kernel killed a container's process for lack of memory. The
// engine learns that separately from the exit: later on a busy machine, and never if the cgroup is
// already gone. So the kernel's own log is read first, if we may, and a kill by someone else is
// assumed only after a moment.
func (cs *containers) outOfMemory(ctx context.Context, id string, code int) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	for try := 1; ; try++ {
		c, err := cs.inspectContainer(ctx, id)
		if err != nil {
			return false
		}
		switch {
		case c.State != nil && c.State.OOMKilled:
			return true
		case code != exitKilled:
			return false
		case isInKernelOOMLog(kernelLog, c.ID):
			return true
		case try == oomTries || !isRecentlyEnded(c.State) || wait.Sleep(ctx, oomPause) != nil:
			return cs.hasOOMEvent(ctx, c)
		}
	}
}

// isRecentlyEnded reports whether the engine may not know yet why the process was killed.
func isRecentlyEnded(s *container.State) bool {
	if s == nil {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, s.FinishedAt)
	return err == nil && time.Since(at) < queryTimeout
}

// hasOOMEvent searches the engine's past events: one that arrived after the exit is recorded
// there, but not in the container's state.
func (cs *containers) hasOOMEvent(ctx context.Context, c container.InspectResponse) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	since, err := time.Parse(time.RFC3339Nano, c.Created)
	if err != nil {
		since = time.Now().Add(-queryTimeout)
	}
	past := cs.api.Events(ctx, client.EventsListOptions{
		Since:   strconv.FormatInt(since.Unix(), 10),
		Until:   strconv.FormatInt(time.Now().Unix()+1, 10),
		Filters: client.Filters{}.Add("container", c.ID).Add("event", "oom"),
	})
	select {
	case <-past.Messages:
		return true
	case <-past.Err:
		return false
	}
}

// isInKernelOOMLog searches the kernel's log for an OOM kill in the container's cgroup. The
// kernel logs a kill before it performs it, so the record exists once the exit is known. If
// the log is not readable, as inside a container, it reports false.
func isInKernelOOMLog(path, id string) bool {
	// Not through os.File, which would wait for more at the log's end.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	record := make([]byte, maxRecord)
	for {
		n, err := unix.Read(fd, record)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR) {
			continue // overwritten meanwhile; the next one is the oldest there is
		}
		if err != nil || n == 0 {
			return false
		}
		if isOOMRecordOf(string(record[:n]), id) {
			return true
		}
	}
}

// isOOMRecordOf reports whether a record of the kernel's log is an OOM kill in this
// container's cgroup. With either of the engine's cgroup drivers, the ID is the last part
// of the cgroup's name.
func isOOMRecordOf(record, id string) bool {
	_, killed, found := strings.Cut(record, "oom-kill:")
	if !found {
		return false
	}
	for field := range strings.SplitSeq(killed, ",") {
		group, is := strings.CutPrefix(field, "oom_memcg=")
		if is && (strings.HasSuffix(group, "/"+id) || strings.HasSuffix(group, "docker-"+id+".scope")) {
			return true
		}
	}
	return false
}
