package docker_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/mailbox"
	"github.com/nullops/nullops/internal/testpart"
)

// catch stores the mails of a deployment until the returned function is called.
func (r *rig) catch(id string, box *mailbox.Box) (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- box.Serve(ctx, func(ctx context.Context) (net.Conn, error) {
			return r.AcceptMail(ctx, id)
		}, slog.New(slog.DiscardHandler))
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("catch mails: %v", err)
		}
	}
}

func (r *rig) mailbox(store *mailbox.Store) (id string, box *mailbox.Box) {
	r.t.Helper()
	id = uuid.NewString()
	box, err := store.Box(id)
	if err == nil {
		err = r.PrepareWithMail(r.t.Context(), id)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return id, box
}

// Services and plugins send mails to mail:1025 without any setting. Each deployment has a mailbox
// of its own, and mails that are sent while the agent is away arrive when it is back.
//
// promise: W-07
func TestMail_OfServicesAndPlugins(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	store := mailbox.Open(t.TempDir(), mailbox.DefaultLimits())
	id, box := r.mailbox(store)
	other, otherBox := r.mailbox(store)
	defer r.catch(other, otherBox)()

	service := r.service(id, "app")
	service.Command, service.Ready, service.Never = []string{"mail", "2"}, nil, true
	if err := r.StartService(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	// Nobody listens yet: the service waits.
	stop := r.catch(id, box)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dockertest.WaitUntil(ctx, t, "both mails came", func() bool { return box.Counts().Mails == 2 })
	stop()

	defer r.catch(id, box)()
	plugin := r.plugin(id, "seed")
	plugin.Network = true
	if result, lines := r.act(plugin, "mail", 1); result.ExitCode != 0 {
		t.Errorf("the plugin ended with %d: %v", result.ExitCode, lines)
	}
	if c := box.Counts(); c.Mails != 3 {
		t.Errorf("caught %+v", c)
	}
	if c := otherBox.Counts(); c.Mails != 0 {
		t.Errorf("another deployment caught %+v", c)
	}
}

// A relay of an earlier release, or beside a service called mail, has no mail port, and says so.
func TestMail_WithoutAPort(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	if _, err := r.AcceptMail(t.Context(), id); !errors.Is(err, agent.ErrNoMailPort) {
		t.Errorf("a relay without a mail port: %v", err)
	}
	if _, err := r.AcceptMail(t.Context(), uuid.NewString()); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("no relay: %v", err)
	}
	r.start(r.service(id, "mail"))
	if body := r.get(id, "mail", "/"); body == "" {
		t.Error("the service called mail does not answer")
	}
}
