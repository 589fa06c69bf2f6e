package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nullops/nullops/agent/sidecar"
)

// leaseMargin is for clocks of machines that do not run at the same speed, and for the kill at the
// end of a lease.
const leaseMargin = 10 * time.Second

// pluginLeases remembers until when plugins may run that nobody can ask; see runplugin.go of
// agent/sidecar.
type pluginLeases struct {
	mu sync.Mutex
	// until are the ends of leases, by the ids of pods.
	until map[types.UID]time.Time
	// began is when this process was started: one before it has extended no lease since.
	began time.Time
}

func newPluginLeases() *pluginLeases {
	return &pluginLeases{until: map[types.UID]time.Time{}, began: time.Now()}
}

// extend is called before a stamp is returned that came at this time.
func (l *pluginLeases) extend(pod types.UID, heard time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until[pod] = heard.Add(sidecar.PluginLease)
}

// end is for a plugin whose helper has said that nothing of it runs any more.
func (l *pluginLeases) end(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until[pod] = time.Time{}
}

func (l *pluginLeases) forget(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.until, pod)
}

// areOver reports whether the plugin in a pod has ended, whatever its machine does.
func (l *pluginLeases) areOver(pod types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, known := l.until[pod]
	if !known {
		until = l.began.Add(sidecar.PluginLease)
	}
	return time.Since(until) > leaseMargin
}

// beat is a stamp of the helper, and when it came.
type beat struct {
	stamp []byte
	at    time.Time
}

func (r *pluginRun) noteHeard(at time.Time) { r.heard.Store(&at) }

// runBelowHelper has the helper in the pod run the plugin, and keeps its lease for as long as the
// helper is heard. It returns the exit code of the plugin.
func (r *pluginRun) runBelowHelper(
	ctx context.Context, command []string, stdin []byte,
) (code int, err error) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	beats, ended := make(chan beat, 1), make(chan struct{})
	go func() {
		defer close(ended)
		code, err = r.execInPod(ctx, r.pod.Namespace, r.pod.Name, mainContainer,
			[]string{helperTarget, "run-plugin", "pod"},
			streams{in: inRead, out: outWrite, err: r.out.Stderr()})
		_ = outWrite.Close()
		_ = inRead.Close()
	}()
	go func() {
		// What the stream does not take any more, nobody waits for.
		_ = r.feedHelper(sidecar.NewFrameWriter(inWrite), beats, ended, command, stdin)
	}()
	exit, readErr := r.readHelper(outRead, beats)
	if readErr != nil {
		_ = outRead.CloseWithError(readErr)
	}
	<-ended
	switch {
	case exit != nil:
		r.pluginLeases.end(r.pod.UID)
		return exit.Code, nil
	case err == nil && code == sidecar.ExitLease:
		err = errors.New("its helper did not hear from the agent, and ended it")
	case err == nil && code != exitKilled: // of the helper itself, for lack of memory
		// A server that loses the machine ends a stream as if all were well.
		err = errors.New("its stream ended, and its helper had not said that it had")
	}
	return code, err
}

// feedHelper sends what to run, once the first stamp is there, and returns each stamp.
func (r *pluginRun) feedHelper(
	to *sidecar.FrameWriter, beats <-chan beat, ended <-chan struct{}, command []string, stdin []byte,
) error {
	for begun := false; ; begun = true {
		select {
		case b := <-beats:
			r.pluginLeases.extend(r.pod.UID, b.at)
			if err := to.Write(sidecar.FrameRenew, b.stamp); err != nil {
				return err
			}
		case <-ended:
			return nil
		}
		if begun {
			continue
		}
		if err := sendPlugin(to, command, stdin); err != nil {
			return err
		}
	}
}

func sendPlugin(to *sidecar.FrameWriter, command []string, stdin []byte) error {
	if err := to.JSON(sidecar.FrameStart, sidecar.Start{Command: command}); err != nil {
		return err
	}
	for len(stdin) > 0 {
		n := min(len(stdin), sidecar.MaxFrame)
		if err := to.Write(sidecar.FrameInput, stdin[:n]); err != nil {
			return err
		}
		stdin = stdin[n:]
	}
	return to.Write(sidecar.FrameEnd, nil)
}

// readHelper reads to the end what the helper sends. Without an exit frame, it returns none.
func (r *pluginRun) readHelper(
	from io.Reader, beats chan beat,
) (exit *sidecar.Exit, err error) {
	for {
		f, err := sidecar.ReadFrame(from)
		if err != nil {
			return exit, err
		}
		switch f.Kind {
		case sidecar.FrameStamp:
			b := beat{stamp: f.Data, at: time.Now()}
			r.noteHeard(b.at)
			select {
			case <-beats: // it was not returned yet, and this one is newer
			default:
			}
			beats <- b
		case sidecar.FrameOutput:
			r.takeStdout(f.Data)
		case sidecar.FrameErrors:
			_, _ = r.out.Stderr().Write(f.Data)
		case sidecar.FrameExit:
			exit = new(sidecar.Exit)
			if err := json.Unmarshal(f.Data, exit); err != nil {
				return nil, fmt.Errorf("how the plugin ended is not readable: %w", err)
			}
		default:
			return nil, sidecar.ErrFrame
		}
	}
}
