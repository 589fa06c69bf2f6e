package docker

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/moby/moby/client"
)

const (
	// gatherFor is how soon after a read the next one looks again. The engine sends
	// each message of a container by itself; to be woken by each of a service that
	// talks a lot costs several times what is done with them.
	gatherFor = 25 * time.Millisecond
	// gatherSize holds what a talkative service says meanwhile, in bytes. Where that
	// much and more comes, a quarter of it is reason enough to read on at once.
	gatherSize = 64 << 10
	// idleEngine is how long a connection is kept that nobody uses; the library's
	// own client does the same.
	idleEngine = 30 * time.Second
)

// newFollowing makes a client for logs that are followed: nobody sees whether a
// line came a fortieth of a second later.
func newFollowing(host string, dial dialer) (*client.Client, error) {
	gather := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &unhurried{Conn: conn}, nil
	}
	web := &http.Client{Transport: &http.Transport{ReadBufferSize: gatherSize,
		IdleConnTimeout: idleEngine}}
	// The copy that it makes of the transport would have it speak TLS.
	return client.New(client.WithHTTPClient(web), client.WithScheme("http"), client.WithHost(host),
		client.WithUserAgent("nullops-agent"), client.WithDialContext(gather))
}

// unhurried lets bytes gather between two reads. The first read after a silence
// gives what comes at once.
type unhurried struct {
	net.Conn
	read time.Time // when the last one returned
	much bool      // came then
}

// Read implements net.Conn.
func (u *unhurried) Read(p []byte) (int, error) {
	if !u.much {
		time.Sleep(gatherFor - time.Since(u.read))
	}
	n, err := u.Conn.Read(p)
	u.read, u.much = time.Now(), n >= gatherSize/4
	return n, err
}
