package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

const (
	// lostAfter is how long something has to be out of the engine's sight before it
	// counts as lost: a container that starts or ends is in between for a moment.
	lostAfter = 10 * time.Second
	// endedFor is how long the engine has to say that a container ended before
	// processes of it count as lost.
	endedFor = 30 * time.Second
)

// ErrProcessesHidden means that the machine's processes cannot be seen from here.
var ErrProcessesHidden = errors.New(
	"the machine's processes cannot be seen from the agent's container",
)

// LostObjects is what a killed engine left running and no longer knows.
type LostObjects struct {
	Containers []LostContainer `json:"containers"`
	Links      []LostLink      `json:"links"`
	Mounts     []LostMount     `json:"mounts"`
}

// LostContainer is a container of this installation that the engine does not know, or believes has
// ended, and its running processes.
type LostContainer struct {
	ID         string           `json:"id"`
	Kind       agent.ObjectKind `json:"kind"`
	Deployment string           `json:"deployment"`
	Step       pipeline.StepKey `json:"step,omitempty"`
	Processes  []LostProcess    `json:"processes"`
}

// LostProcess is one process of a lost container. Shim marks containerd's shim, the parent of the
// container's processes.
type LostProcess struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	Shim bool   `json:"shim,omitempty"`
	// ticks is when it was started, in the kernel's ticks since boot: with it, a number that was
	// given to another process is distinguished.
	ticks int64
}

// LostLink is the machine's end of a pair of network interfaces whose other end no
// container has, on the bridge of one of our networks, or a bridge of ours whose network the
// engine does not know.
type LostLink struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Bridge     string `json:"bridge"`
	Deployment string `json:"deployment"`
	index      int32
}

// IsEmpty reports whether nothing is lost.
func (l LostObjects) IsEmpty() bool {
	return len(l.Containers) == 0 && len(l.Links) == 0 && len(l.Mounts) == 0
}

// lostObjects finds and ends what the engine has lost.
type lostObjects struct {
	*engine
	networks *networks
	mu       sync.Mutex
	// suspects may be processes of lost containers.
	suspects lostSuspects
}

// lostSuspects are when something was first seen without its container.
type lostSuspects map[string]time.Time

// FindLost looks for processes, interfaces and mounts in the kernel, without the engine's API. It
// returns those that were lost in every call since LostAfter, and ErrProcessesHidden if the
// machine's processes cannot be seen.
func (lo *lostObjects) FindLost(ctx context.Context) (LostObjects, error) {
	seen, err := lo.lookForLost(ctx)
	if err != nil {
		return LostObjects{}, err
	}
	now, next := time.Now(), lostSuspects{}
	lo.mu.Lock()
	defer lo.mu.Unlock()
	since := func(key string) time.Time {
		next[key] = now
		if first, known := lo.suspects[key]; known {
			next[key] = first
		}
		return next[key]
	}
	young := func(key string) bool { return now.Sub(since(key)) < lo.config.LostAfter }
	seen.Containers = slices.DeleteFunc(seen.Containers,
		func(c LostContainer) bool { return young(c.ID) })
	seen.Links = slices.DeleteFunc(seen.Links,
		func(l LostLink) bool { return young(fmt.Sprint(l.Name, " ", l.index)) })
	seen.Mounts = slices.DeleteFunc(seen.Mounts, func(m LostMount) bool { return young(m.Path) })
	lo.suspects = next
	return seen, nil
}

// FindLostTwice is FindLost for a process that has just started, such as a command: it looks, waits
// for LostAfter and looks again.
func (lo *lostObjects) FindLostTwice(ctx context.Context) (LostObjects, error) {
	found, err := lo.FindLost(ctx)
	lo.mu.Lock()
	some := len(lo.suspects) > 0
	lo.mu.Unlock()
	if err != nil || !some {
		return found, err
	}
	if err := wait.Sleep(ctx, lo.config.LostAfter); err != nil {
		return found, err
	}
	return lo.FindLost(ctx)
}

// lookForLost returns everything that is lost now, also what the engine is still starting or
// ending.
func (lo *lostObjects) lookForLost(ctx context.Context) (l LostObjects, err error) {
	l = LostObjects{Containers: []LostContainer{}, Links: []LostLink{}, Mounts: []LostMount{}}
	if _, err := lo.api.Ping(ctx, client.PingOptions{}); err != nil {
		return l, fmt.Errorf("look for what is lost: %w", wrapUnavailable(err))
	}
	if lo.hostPaths().ownProcesses {
		return l, ErrProcessesHidden
	}
	running, err := procReader{proc: "/proc"}.findProcesses(func(id string) bool {
		n, ours := lo.book.findContainer(id)
		return ours && n.engine == lo.hostPaths().engineID
	})
	if err != nil {
		return l, err
	}
	for _, id := range slices.Sorted(maps.Keys(running)) {
		lost, err := lo.selectLostProcesses(ctx, id, running[id])
		if err != nil {
			return l, err
		}
		if n, _ := lo.book.findContainer(id); len(lost) > 0 {
			l.Containers = append(l.Containers, LostContainer{ID: id, Kind: n.Kind,
				Deployment: n.Deployment, Step: n.Step, Processes: lost})
		}
	}
	if l.Links, err = lo.findLostLinks(ctx); err != nil {
		return l, err
	}
	l.Mounts, err = lo.findLostMounts(ctx)
	return l, err
}

// selectLostProcesses returns those processes of a container that the engine knows nothing of:
// all if it does not know the container, and if it says that the container has ended, those that
// were started before that.
func (lo *lostObjects) selectLostProcesses(
	ctx context.Context, id string, all []LostProcess,
) ([]LostProcess, error) {
	r, err := lo.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if errdefs.IsNotFound(err) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspect container: %w", wrapUnavailable(err))
	}
	s := r.Container.State
	if s == nil || s.Status != container.StateExited && s.Status != container.StateDead {
		return nil, nil
	}
	ended, err := time.Parse(time.RFC3339Nano, s.FinishedAt)
	if err != nil || time.Since(ended) < endedFor {
		return nil, nil //nolint:nilerr // an engine that does not say leaves it open
	}
	boot, err := procReader{proc: "/proc"}.bootTime()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p LostProcess) bool {
		// The kernel reports the boot time in whole seconds.
		return boot.Add(time.Duration(p.ticks) * tick).After(ended.Add(-2 * time.Second))
	}), nil
}

// EndLost ends exactly what FindLostTwice finds, and returns it.
func (lo *lostObjects) EndLost(ctx context.Context) (LostObjects, error) {
	found, err := lo.FindLostTwice(ctx)
	if err != nil {
		return found, err
	}
	var failed error
	for _, c := range found.Containers {
		// The container first: its shim reports the end to containerd and exits.
		for _, shims := range []bool{false, true} {
			failed = errors.Join(failed, endProcesses(ctx, c.ID, slices.DeleteFunc(
				slices.Clone(c.Processes), func(p LostProcess) bool { return p.Shim != shims })))
		}
	}
	for _, l := range found.Links {
		failed = errors.Join(failed, deleteLink(l))
	}
	for _, m := range found.Mounts {
		failed = errors.Join(failed, m.unmount())
	}
	return found, failed
}

// endWithin is how long the kernel may take to end what was killed.
const endWithin = 10 * time.Second

// endProcesses kills the processes and waits until they are gone.
func endProcesses(ctx context.Context, id string, all []LostProcess) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	m := procReader{proc: "/proc"}
	for _, p := range all {
		// The handle belongs to this process: the signal cannot reach another one, even if the
		// process ID is reused after this.
		handle, err := os.FindProcess(p.PID)
		if err != nil {
			continue
		}
		if m.isSameProcess(p, id) {
			err = handle.Kill()
		}
		_ = handle.Release()
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end process %d of container %s: %w; run this as root", p.PID, id[:12],
				err)
		}
	}
	for _, p := range all {
		for m.isSameProcess(p, id) {
			if err := wait.Sleep(ctx, execPoll); err != nil {
				return fmt.Errorf("process %d of container %s did not end within %s", p.PID, id[:12],
					endWithin)
			}
		}
	}
	return nil
}

// LostCommand is what a person types on the machine itself to end what is lost.
func (lo *lostObjects) LostCommand() string {
	h := lo.hostPaths()
	command := "nullops agent lost --end --agent.data=" + h.toHost(lo.config.DataDir)
	if lo.config.Host != client.DefaultDockerHost {
		// Another engine would say that nothing is lost.
		command += " --agent.docker=" + lo.config.Host
	}
	return command
}

// lostCheck is unknown where the agent cannot look, which is not the same as well.
func lostCheck(f hostFacts) wire.Check {
	switch {
	case errors.Is(f.lostProblem, ErrProcessesHidden):
		return failedCheck(
			checkLost,
			wire.SeverityUnknown,
			"Whether a killed engine left processes behind "+
				"cannot be seen from the agent's container.",
			"Run the command on the machine itself, as "+
				"root: '"+f.lostCommand+"'. Or start the agent's container with --pid host.",
		)
	case f.lostProblem != nil:
		return failedCheck(checkLost, wire.SeverityUnknown,
			"What a killed engine left behind cannot be listed.", "See the agent's log.")
	case f.lost.IsEmpty():
		return okCheck(checkLost, "The engine knows all our containers that run.")
	}
	return failedCheck(checkLost, wire.SeverityWarning, "The engine has lost "+f.lost.String()+
		" of deployments, which run on and take room.", "'nullops agent lost' on the machine lists "+
		"them, and '"+f.lostCommand+"' ends exactly these.")
}

// String counts what is lost.
func (l LostObjects) String() string {
	return fmt.Sprintf("%d containers, %d network interfaces and %d mounts", len(l.Containers),
		len(l.Links), len(l.Mounts))
}
