package docker

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/moby/moby/client"
)

const (
	// coalesceFor is how long a read waits after the previous one. The engine sends each log
	// message separately, and waking up for each one costs several times more CPU than handling
	// it.
	coalesceFor = 25 * time.Millisecond
	// coalesceSize is the size of the buffer for messages that arrive while reads are delayed,
	// in bytes. If a quarter of it was filled, the next read does not wait.
	coalesceSize = 64 << 10
	// idleEngine is how long an unused connection is kept, as in the library's own client.
	idleEngine = 30 * time.Second
)

// newFollowing makes a client for following logs. It delays reads by up to coalesceFor (25 ms),
// which no reader of a log notices.
func newFollowing(host string, dial dialer) (*client.Client, error) {
	gather := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &coalescingConn{Conn: conn}, nil
	}
	web := &http.Client{Transport: &http.Transport{ReadBufferSize: coalesceSize,
		IdleConnTimeout: idleEngine}}
	// Without this, the client's copy of the transport would use TLS.
	return client.New(client.WithHTTPClient(web), client.WithScheme("http"), client.WithHost(host),
		client.WithUserAgent("nullops-agent"), client.WithDialContext(gather))
}

// coalescingConn delays reads, so that several messages arrive in one. The first read after
// a silence returns immediately.
type coalescingConn struct {
	net.Conn
	read time.Time // when the last one returned
	much bool      // received by then
}

// Read implements net.Conn.
func (u *coalescingConn) Read(p []byte) (int, error) {
	if !u.much {
		time.Sleep(coalesceFor - time.Since(u.read))
	}
	n, err := u.Conn.Read(p)
	u.read, u.much = time.Now(), n >= coalesceSize/4
	return n, err
}
