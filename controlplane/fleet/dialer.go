package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// linkFor is how long a dialer uses what it read of a node. That is safe: the agent
// itself refuses a token that was rotated meanwhile.
const linkFor = 2 * time.Second

// Dialer opens connections beside the sessions: tunnels for the ingress, and
// services' logs. Each has the session's pin and proof of its own.
type Dialer struct {
	nodes Nodes
	how   DialSettings

	mu    sync.Mutex
	links map[controlplane.NodeID]*cachedLink
}

// cachedLink is what is known of a node, and its limits of handshakes at once.
type cachedLink struct {
	config wire.DialConfig
	read   time.Time
	// otherRelease is why an agent of another release can do nothing but open tunnels, or nil.
	otherRelease error
	dial, tunnel func(context.Context) (net.Conn, error)
	// tunnelBuild is the release that the agent had when it was last found to be of another one.
	tunnelBuild wire.Build
}

// NewDialer makes a dialer for the nodes.
func NewDialer(nodes Nodes, how DialSettings) *Dialer {
	return &Dialer{nodes: nodes, how: how, links: map[controlplane.NodeID]*cachedLink{}}
}

// Dial opens one proven connection to a node.
func (d *Dialer) Dial(ctx context.Context, id controlplane.NodeID) (net.Conn, error) {
	return d.dialVia(ctx, id, func(l *cachedLink) (net.Conn, error) {
		if l.otherRelease != nil {
			return nil, l.otherRelease
		}
		return l.dial(ctx)
	})
}

// dialVia opens a connection by what is known of a node.
func (d *Dialer) dialVia(ctx context.Context, id controlplane.NodeID,
	open func(*cachedLink) (net.Conn, error)) (net.Conn, error) {
	l, err := d.getLink(ctx, id)
	if err != nil {
		return nil, err
	}
	conn, err := open(l)
	if !errors.Is(err, wire.ErrStaleEpoch) {
		return conn, err
	}
	// Another control plane took the lease a moment ago and may have sent the agent a
	// newer epoch, so that ours is refused. Read it again.
	d.expireLink(id)
	if l, err = d.getLink(ctx, id); err != nil {
		return nil, err
	}
	return open(l)
}

// expireLink has the node read again at the next use.
func (d *Dialer) expireLink(id controlplane.NodeID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.links[id]; known != nil {
		stale := *known
		stale.read = time.Time{}
		d.links[id] = &stale
	}
}

// OpenTunnel opens a stream to a service's port on a node.
func (d *Dialer) OpenTunnel(
	ctx context.Context, id controlplane.NodeID, target wire.Target,
) (net.Conn, error) {
	until := time.Now().Add(restartPatience)
	for {
		conn, err := d.dialVia(ctx, id, func(l *cachedLink) (net.Conn, error) { return l.tunnel(ctx) })
		if err == nil {
			return wire.OpenTunnel(ctx, conn, target)
		}
		if !isAgentAway(err) || time.Now().After(until) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(restartPause):
		}
	}
}

const (
	// restartPatience is how long a tunnel waits for an agent that is being restarted or replaced:
	// visitors of what runs on its node wait instead of seeing an error. A busy machine takes ten
	// seconds for it. The ingress waits a little longer.
	restartPatience = 20 * time.Second
	restartPause    = 100 * time.Millisecond
)

// isAgentAway reports whether the machine answers and no agent does: nothing listens, or what
// forwards the agent's port, such as Docker's proxy, finds nobody behind it.
func isAgentAway(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, io.EOF)
}

// OpenInside opens a connection into a service: frames, see agent/sidecar.
func (d *Dialer) OpenInside(ctx context.Context, id controlplane.NodeID,
	deployment controlplane.DeploymentID, step pipeline.StepKey) (net.Conn, error) {
	conn, err := d.Dial(ctx, id)
	if err != nil {
		return nil, err
	}
	opened, err := wire.OpenInside(ctx, conn, string(deployment), string(step))
	return opened, refusedTunnel(err)
}

// OpenForward opens a connection to a service's port for a person.
func (d *Dialer) OpenForward(ctx context.Context, id controlplane.NodeID,
	deployment controlplane.DeploymentID, step pipeline.StepKey, port int) (net.Conn, error) {
	conn, err := d.OpenTunnel(ctx, id,
		wire.Target{Deployment: string(deployment), Service: string(step), Port: port})
	return conn, refusedTunnel(err)
}

// refusedTunnel turns the agent's refusal into an error of the API.
func refusedTunnel(err error) error {
	no, ok := errors.AsType[*wire.TunnelError](err)
	if !ok {
		return err
	}
	e := &controlplane.Error{Kind: controlplane.Unavailable, Code: "service_unreachable",
		Message: no.Reason, Remedy: "Look at the service's health and log."}
	if len(no.Listens) > 0 {
		e.Message = "The service listens on " + no.Listens.String() + " only."
		e.Remedy = "Make it listen on 0.0.0.0."
	}
	return e
}

func (d *Dialer) getLink(ctx context.Context, id controlplane.NodeID) (*cachedLink, error) {
	d.mu.Lock()
	known := d.links[id]
	d.mu.Unlock()
	if known != nil && time.Since(known.read) < linkFor {
		return known, nil
	}
	fresh, err := d.readLink(ctx, id)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known = d.links[id]; known == nil {
		// The limits outlive what was read: they are the node's.
		fresh.dial = wire.LimitHandshakes(func(ctx context.Context) (net.Conn, error) {
			return d.dialNow(ctx, id)
		})
		fresh.tunnel = wire.LimitHandshakes(func(ctx context.Context) (net.Conn, error) {
			return d.dialForTunnel(ctx, id)
		})
	} else {
		fresh.dial, fresh.tunnel = known.dial, known.tunnel
		fresh.tunnelBuild = known.tunnelBuild
	}
	d.links[id] = fresh
	return fresh, nil
}

func (d *Dialer) dialNow(ctx context.Context, id controlplane.NodeID) (net.Conn, error) {
	d.mu.Lock()
	config := d.links[id].config
	d.mu.Unlock()
	conn, err := wire.Dial(ctx, config)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// dialForTunnel opens a connection for one tunnel. All releases that speak the same protocol
// open tunnels in the same way, so an agent of another release is dialed in the name of its own:
// URLs answer between the upgrade of the ingress and that of the agent.
func (d *Dialer) dialForTunnel(ctx context.Context, id controlplane.NodeID) (net.Conn, error) {
	d.mu.Lock()
	config := d.links[id].config
	config.Build = cmp.Or(d.links[id].tunnelBuild, config.Build)
	d.mu.Unlock()
	conn, err := wire.Dial(ctx, config)
	if other, ok := errors.AsType[*wire.IncompatibleError](err); ok &&
		other.TheirProtocol == wire.Protocol {
		config.Build = other.Theirs
		d.mu.Lock()
		d.links[id].tunnelBuild = other.Theirs
		d.mu.Unlock()
		conn, err = wire.Dial(ctx, config)
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

func (d *Dialer) readLink(ctx context.Context, id controlplane.NodeID) (*cachedLink, error) {
	link, err := d.nodes.GetLink(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &cachedLink{read: time.Now()}
	switch name := link.Node.Name; link.Node.Status {
	case controlplane.NodeOnline:
	case controlplane.NodeIncompatible:
		l.otherRelease = &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_offline",
			Message: "the agent of node " + name + " is of another release than the control plane",
			Remedy:  "Ask an admin to upgrade it: nullops node upgrade " + name}
	default:
		return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_offline",
			Message: "node " + name + " is offline", Remedy: "Wait until it is back."}
	}
	epoch, err := d.nodes.Epoch(ctx, id)
	if err != nil {
		return nil, err
	}
	l.config, err = d.how.dialConfig(link, epoch)
	return l, err
}

// LogOptions choose lines of a service's log.
type LogOptions struct {
	Follow bool
	Tail   int
	Since  time.Time
}

// Logs asks a node for a service's lines: "RFC3339Nano text" each, oldest
// first. Close it to stop following.
func (d *Dialer) Logs(ctx context.Context, id controlplane.NodeID,
	deployment controlplane.DeploymentID, step pipeline.StepKey,
	o LogOptions) (io.ReadCloser, error) {
	query := url.Values{"follow": {strconv.FormatBool(o.Follow)}, "tail": {strconv.Itoa(o.Tail)}}
	if !o.Since.IsZero() {
		query.Set("since", o.Since.Format(time.RFC3339Nano))
	}
	where := fmt.Sprintf("http://agent/v1/deployments/%s/services/%s/logs?%s",
		url.PathEscape(string(deployment)), url.PathEscape(string(step)), query.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for logs: %w", err)
	}
	client := newOneShotClient(func(ctx context.Context) (net.Conn, error) {
		return d.Dial(ctx, id)
	})
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for logs: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		why, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		said := strings.TrimSpace(string(why))
		switch response.StatusCode {
		case http.StatusNotFound:
		case http.StatusTooEarly:
			return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_logs_yet",
				Message: "there is no log yet: " + said, Remedy: "Try again when it has started.",
				RetryAfter: 2 * time.Second}
		default:
			return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "no_logs_now",
				Message: "the node cannot give the log now: " + said, Remedy: "Try again in a moment."}
		}
		return nil, &controlplane.Error{Kind: controlplane.NotFound, Code: "no_logs",
			Message: "the node has no logs of this service: " + said}
	}
	return response.Body, nil
}

// newOneShotClient returns a client for one request to an agent, on a connection of
// its own. Redirects are not followed: agents send none.
func newOneShotClient(dial func(context.Context) (net.Conn, error)) *http.Client {
	transport := wire.NewTransport(dial)
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
