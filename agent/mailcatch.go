package agent

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/mailbox"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// mailboxDir is where mailboxes are, below the data folder.
	mailboxDir = "mails"
	// acceptPause is how long to wait for a relay that is not there, at first and at most.
	acceptPause    = 50 * time.Millisecond
	maxAcceptPause = 2 * time.Second
	// strayMailbox is how old a mailbox of an unknown deployment must be before it is removed: an
	// agent that lost its journal learns of its deployments from the control plane.
	strayMailbox = 24 * time.Hour
)

// mailCatcher keeps the mails that the deployments on this node send. Like the engine, it compares
// what is with what should be, after each change.
type mailCatcher struct {
	*base
	// boxes is nil if the node catches no mails.
	boxes *mailbox.Store

	mu sync.Mutex
	// oldRelays are deployments whose relay has no mail port.
	oldRelays map[string]bool
}

// stateOf says whether a deployment's mails are caught.
func (mc *mailCatcher) stateOf(v view) wire.MailState {
	_, can := mc.runtime.(MailCatcher)
	mc.mu.Lock()
	old := mc.oldRelays[v.goal.Deployment]
	mc.mu.Unlock()
	switch {
	case !can:
		return wire.MailUnsupported
	case mc.boxes == nil:
		return wire.MailOff
	case namesMail(v.goal):
		return wire.MailService
	case old:
		return wire.MailOldRelay
	}
	return wire.MailOn
}

// namesMail reports whether a step of the pipeline has the catcher's name. The step's wins.
func namesMail(g *wire.Goal) bool {
	_, taken := g.Pipeline.Step(MailHost)
	return taken
}

// catchMails serves the mail ports of all deployments, and removes the mails of those that are
// gone, until ctx ends.
func (mc *mailCatcher) catchMails(ctx context.Context) error {
	catcher, can := mc.runtime.(MailCatcher)
	if mc.boxes == nil || !can {
		return nil
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stopAll := context.WithCancel(ctx)
	defer stopAll()
	stops := map[string]context.CancelFunc{}
	for {
		changed := mc.published.nextSignal()
		wanted, ended := mc.sortViews()
		for id, stop := range stops {
			if !wanted[id] {
				stop()
				delete(stops, id)
			}
		}
		for id := range wanted {
			if stops[id] == nil {
				serve, stop := context.WithCancel(ctx)
				stops[id] = stop
				serving.Go(func() { mc.serveMailPort(serve, catcher, id) })
			}
		}
		mc.removeMailboxes(ended)
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// sortViews returns the deployments whose mails are to be caught, and those that are gone.
func (mc *mailCatcher) sortViews() (wanted, ended map[string]bool) {
	mc.board.mu.Lock()
	defer mc.board.mu.Unlock()
	wanted, ended = map[string]bool{}, map[string]bool{}
	for id, v := range mc.views {
		switch v.state.Phase {
		case wire.PhaseApplying, wire.PhaseReady, wire.PhaseUndoing, wire.PhaseRemoving:
			if v.goal != nil && !v.goal.Elsewhere && !namesMail(v.goal) {
				wanted[id] = true
			}
		case wire.PhaseFailed, wire.PhaseRemoved:
			ended[id] = true
		}
	}
	return wanted, ended
}

// serveMailPort serves one deployment's until ctx ends.
func (mc *mailCatcher) serveMailPort(ctx context.Context, catcher MailCatcher, id string) {
	pause := acceptPause
	for ctx.Err() == nil {
		box, err := mc.boxes.Box(id)
		if err == nil {
			err = box.Serve(ctx, func(ctx context.Context) (conn net.Conn, err error) {
				if conn, err = catcher.AcceptMail(ctx, id); err == nil {
					pause = acceptPause
				}
				return conn, err
			}, mc.log.With("deployment_id", id))
		}
		old := errors.Is(err, ErrNoMailPort)
		mc.mu.Lock()
		mc.oldRelays[id] = old
		mc.mu.Unlock()
		if ctx.Err() != nil {
			break
		}
		if old {
			pause = maxAcceptPause
		} else {
			mc.log.DebugContext(ctx, "the mail port is not there", "deployment_id", id, "error", err)
		}
		_ = wait.Sleep(ctx, pause)
		pause = min(2*pause, maxAcceptPause)
	}
	mc.mu.Lock()
	defer mc.mu.Unlock()
	delete(mc.oldRelays, id)
}

// removeMailboxes removes the mailboxes of deployments that ended, and old ones of unknown ones.
func (mc *mailCatcher) removeMailboxes(ended map[string]bool) {
	all, err := mc.boxes.List()
	for id, changed := range all {
		_, known := mc.viewOf(id)
		if ended[id] || !known && time.Since(changed) > strayMailbox {
			err = errors.Join(err, mc.boxes.Remove(id))
		}
	}
	if err != nil {
		mc.log.Warn("mails of deployments that are gone cannot be removed", "error", err)
	}
}
