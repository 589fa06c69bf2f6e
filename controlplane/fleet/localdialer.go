package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

const (
	// localPatience bounds the connection to an agent's socket. It leaves time for a tunnel.
	localPatience = 2 * time.Second
	// localPause is how long a socket that did not work is left alone, unless it was replaced.
	localPause = 10 * time.Second
)

// LocalDialer opens connections to services. If a service's agent listens at a Unix socket of this
// machine, it passes the connected socket, and the bytes go through neither TLS nor the agent.
// Otherwise, and whenever that fails, it is a tunnel.
type LocalDialer struct {
	tunnels *Dialer
	folder  string
	log     *slog.Logger

	mu    sync.Mutex
	nodes map[controlplane.NodeID]*localNode
}

// localNode is what is known of one node's socket.
type localNode struct {
	// mu is held while the channel is being opened: all who need it wait for the same one.
	mu      sync.Mutex
	kid     string
	channel *wire.SocketClient
	// failed is the socket that did not work, and until when it is left alone.
	failed fs.FileInfo
	until  time.Time
}

// NewLocalDialer looks for agents' sockets in a folder; an empty one means tunnels only.
func NewLocalDialer(tunnels *Dialer, folder string, log *slog.Logger) *LocalDialer {
	return &LocalDialer{tunnels: tunnels, folder: folder, log: log,
		nodes: map[controlplane.NodeID]*localNode{}}
}

// OpenTunnel connects to a service's port on a node. local tells whether it is a passed socket.
func (d *LocalDialer) OpenTunnel(
	ctx context.Context, id controlplane.NodeID, target wire.Target,
) (conn net.Conn, local bool, err error) {
	if channel := d.channelTo(ctx, id); channel != nil {
		conn, err = channel.Dial(ctx, target)
		refused, ok := errors.AsType[*wire.TunnelError](err)
		if err == nil || ctx.Err() != nil || ok && refused.Status != notPassed {
			return conn, true, err
		}
		d.log.InfoContext(ctx, "an agent on this machine passed no socket, so a tunnel is used",
			"node_id", id, "error", err)
	}
	conn, err = d.tunnels.OpenTunnel(ctx, id, target)
	return conn, false, err
}

// notPassed is the status of an agent that is connected, and cannot pass the socket.
const notPassed = http.StatusNotImplemented

// channelTo returns the channel to a node's agent, or nil if there is none on this machine.
func (d *LocalDialer) channelTo(ctx context.Context, id controlplane.NodeID) *wire.SocketClient {
	if d.folder == "" {
		return nil
	}
	link, err := d.tunnels.getLink(ctx, id)
	if err != nil {
		return nil // the tunnel fails in the same way, and says so
	}
	n := d.nodeOf(id)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isOpen(link.config.Kid) {
		return n.channel
	}
	path := wire.LocalSocket(d.folder, link.config.Kid)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || n.failed != nil && time.Now().Before(n.until) &&
		err == nil && isSameSocket(info, n.failed) {
		return nil
	}
	n.channel, err = d.openChannel(ctx, link.config, path)
	if err != nil {
		n.failed, n.until = info, time.Now().Add(localPause)
		d.log.WarnContext(ctx, "the socket of an agent on this machine does not work, so tunnels "+
			"are used", "node_id", id, "error", err)
		return nil
	}
	n.kid, n.failed = link.config.Kid, nil
	d.log.InfoContext(ctx, "an agent on this machine passes its services' sockets", "node_id", id,
		"file", path)
	return n.channel
}

func (d *LocalDialer) nodeOf(id controlplane.NodeID) *localNode {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[id] == nil {
		d.nodes[id] = &localNode{}
	}
	return d.nodes[id]
}

// isOpen reports whether the channel can be used, and closes that of a former token.
func (n *localNode) isOpen(kid string) bool {
	if n.channel == nil {
		return false
	}
	select {
	case <-n.channel.Done():
	default:
		if n.kid == kid {
			return true
		}
		_ = n.channel.Close()
	}
	n.channel = nil
	return false
}

// isSameSocket reports whether no process has listened there anew.
func isSameSocket(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime())
}

func (d *LocalDialer) openChannel(
	ctx context.Context, config wire.DialConfig, path string,
) (*wire.SocketClient, error) {
	// Others wait for it too, so it does not end with the request that it is opened for.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), localPatience,
		fmt.Errorf("the process there did not prove itself within %v", localPatience))
	defer cancel()
	config.Address = "unix://" + path
	config.Connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return wire.DialLocal(ctx, path)
	}
	conn, err := wire.Dial(ctx, config)
	if err != nil {
		return nil, err
	}
	return wire.OpenSockets(ctx, conn)
}
