package fleet

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// standbyHostFor is how long a process that has died is still asked, and standbyHostEvery
	// how often one that lives says so.
	standbyHostFor   = 15 * time.Second
	standbyHostEvery = 5 * time.Second
	// hostsFor is how long what was read of the others is used.
	hostsFor = 2 * time.Second
)

// Announce says in the database, until ctx ends, that agents' connections are here and that the
// other processes can ask for them at base, the URL of this process. fingerprint returns that of
// the certificate that answers there, or "".
func (s *Standbys) Announce(
	ctx context.Context, base *url.URL, fingerprint func() string,
) error {
	defer s.Close()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), standbyHostEvery)
		defer cancel()
		_ = s.table.DeleteStandbyHost(ctx) // it expires by itself
	}()
	for {
		if err := s.table.PutStandbyHost(ctx, base.String(), fingerprint()); err != nil {
			s.log.WarnContext(ctx, "other processes cannot be told that agents connect here",
				"error", err)
		}
		if err := wait.Sleep(ctx, standbyHostEvery); err != nil {
			return nil
		}
	}
}

// standbyHosts asks the other processes for connections of agents.
type standbyHosts struct {
	table StandbyTable

	mu   sync.Mutex
	read time.Time
	all  []standbyPeer
}

// standbyPeer is a process to ask, with the client that reaches it.
type standbyPeer struct {
	controlplane.StandbyHost
	client *http.Client
}

// ask returns nil if none of the others has a connection of the node.
func (h *standbyHosts) ask(ctx context.Context, link NodeLink) *wire.Carrier {
	for _, p := range h.list(ctx) {
		at, err := url.Parse(p.URL)
		if err != nil {
			continue
		}
		c, err := wire.DialStandby(ctx, wire.StandbyDial{URL: wire.StandbyURL(at), Client: p.client,
			Role: wire.StandbyRelay, Kid: link.Kid, Key: link.Key})
		if err == nil {
			return c
		}
	}
	return nil
}

func (h *standbyHosts) list(ctx context.Context) []standbyPeer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.read) < hostsFor {
		return h.all
	}
	hosts, err := h.table.ListStandbyHosts(ctx)
	if err != nil {
		return h.all // they are asked all the same, and may answer
	}
	next := make([]standbyPeer, len(hosts))
	for i, host := range hosts {
		next[i] = standbyPeer{StandbyHost: host, client: h.clientLocked(host)}
	}
	h.all, h.read = next, time.Now()
	return h.all
}

// clientLocked keeps a client as long as the host's certificate is the same.
func (h *standbyHosts) clientLocked(host controlplane.StandbyHost) *http.Client {
	for _, p := range h.all {
		if p.StandbyHost == host {
			return p.client
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if host.Fingerprint != "" {
		acceptCertificate(config, host.Fingerprint)
	}
	return wire.NewCarrierClient(nil, config)
}

// acceptCertificate accepts the certificate that the process announced, which may be self-signed,
// besides those that the system's authorities vouch for: a proxy may be in front of it.
func acceptCertificate(config *tls.Config, fingerprint string) {
	// VerifyConnection does what this switches off.
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if FingerprintOf(s.PeerCertificates[0].Raw) == fingerprint {
			return nil
		}
		others := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			others.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: s.ServerName,
			Intermediates: others})
		return err
	}
}

// FingerprintOf is how Announce spells a certificate.
func FingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
