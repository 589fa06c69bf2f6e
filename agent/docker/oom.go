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
)

const (
	// oomTries and oomPause are how long the engine may take to hear from the
	// kernel why a process was killed: two seconds.
	oomTries = 20
	oomPause = 100 * time.Millisecond
	// kernelLog is where the kernel says whom it killed; maxRecord is the longest
	// record that it hands out.
	kernelLog = "/dev/kmsg"
	maxRecord = 8192
)

// outOfMemory asks whether the kernel killed a container's process for its
// memory. The engine hears of that on another path than of the exit: on a busy
// machine afterwards, and never when the control group is gone by then. So the
// kernel's own log is asked first, where we may read it, and a stranger's kill is
// believed only after a moment.
func (d *Docker) outOfMemory(ctx context.Context, id string, code int) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	for try := 1; ; try++ {
		c, err := d.inspect(ctx, id)
		if err != nil {
			return false
		}
		switch {
		case c.State != nil && c.State.OOMKilled:
			return true
		case code != exitKilled:
			return false
		case kernelKilled(kernelLog, c.ID):
			return true
		case try == oomTries || !justKilled(c.State) || pause(ctx, oomPause) != nil:
			return d.saidOOM(ctx, c)
		}
	}
}

// justKilled reports whether the engine may still have to hear why.
func justKilled(s *container.State) bool {
	if s == nil {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, s.FinishedAt)
	return err == nil && time.Since(at) < askTime
}

// saidOOM asks the engine's past events: word that came after the exit is there,
// and nowhere in the container's state.
func (d *Docker) saidOOM(ctx context.Context, c container.InspectResponse) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	since, err := time.Parse(time.RFC3339Nano, c.Created)
	if err != nil {
		since = time.Now().Add(-askTime)
	}
	past := d.api.Events(ctx, client.EventsListOptions{
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

// kernelKilled looks for the container in what the kernel logged of processes
// that it killed for their control group's memory, before it killed them. A log
// that cannot be read, as in a container of ours, says nothing.
func kernelKilled(path, id string) bool {
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
		if saysKilled(string(record[:n]), id) {
			return true
		}
	}
}

// saysKilled reads one record of the kernel's log. The id is the last part of the
// group's name with either of the engine's cgroup drivers.
func saysKilled(record, id string) bool {
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
