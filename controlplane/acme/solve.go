package acme

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/libdns/rfc2136"
	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"
	"go.uber.org/zap"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/postgres"
)

// challengeLife is how long a challenge's answer may stay after a crash.
const challengeLife = time.Hour

func (o *Orderer) newSolvers(
	ctx context.Context, how certificates.ACMEOrder,
) (map[string]acmez.Solver, error) {
	if how.Challenge == controlplane.ChallengeHTTP {
		return map[string]acmez.Solver{acme.ChallengeTypeHTTP01: byIngress{o}}, nil
	}
	if how.DNS == controlplane.NameServerWebhook {
		return map[string]acmez.Solver{acme.ChallengeTypeDNS01: byWebhook{
			url: strings.TrimSuffix(how.DNSServer, "/"), user: how.DNSUser, secret: how.Secret,
			client: &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
				DialContext: o.Off.Dialer(10 * time.Second).DialContext, DisableKeepAlives: true},
				CheckRedirect: func(*http.Request, []*http.Request) error {
					return http.ErrUseLastResponse
				}}}}, nil
	}
	// The library dials by itself: whether it may is asked before.
	conn, err := o.Off.Dialer(10*time.Second).DialContext(ctx, "tcp", how.DNSServer)
	if err != nil {
		return nil, fmt.Errorf("name server %s: %w", how.DNSServer, err)
	}
	_ = conn.Close()
	return map[string]acmez.Solver{acme.ChallengeTypeDNS01: &certmagic.DNS01Solver{
		DNSManager: certmagic.DNSManager{
			DNSProvider: &rfc2136.Provider{KeyName: how.DNSUser, KeyAlg: "hmac-sha256",
				Key: how.Secret.Reveal(), Server: how.DNSServer},
			Resolvers: []string{how.DNSServer}, TTL: time.Minute, Logger: zap.NewNop(),
		}}}, nil
}

// byIngress lets the ingress answer on the host itself, any replica of it.
type byIngress struct{ *Orderer }

var _ acmez.Solver = byIngress{}

// Present implements acmez.Solver.
func (b byIngress) Present(ctx context.Context, c acme.Challenge) error {
	return b.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.PutACMEChallenge(ctx, c.Identifier.Value, c.Token, c.KeyAuthorization, b.Now())
	})
}

// CleanUp implements acmez.Solver.
func (b byIngress) CleanUp(ctx context.Context, c acme.Challenge) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return b.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.DeleteACMEChallenges(ctx, c.Identifier.Value, c.Token,
			b.Now().Add(-challengeLife))
	})
}

// byWebhook has a program of the operator set the DNS record, with the API of lego's
// "httpreq": a POST of fqdn and value, answered by 2xx after the name servers have it.
type byWebhook struct {
	url, user string
	secret    controlplane.Plain
	client    *http.Client
}

var _ acmez.Solver = byWebhook{}

// Present implements acmez.Solver.
func (b byWebhook) Present(ctx context.Context, c acme.Challenge) error {
	return b.postChallenge(ctx, "/present", c)
}

// CleanUp implements acmez.Solver.
func (b byWebhook) CleanUp(ctx context.Context, c acme.Challenge) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return b.postChallenge(ctx, "/cleanup", c)
}

func (b byWebhook) postChallenge(ctx context.Context, path string, c acme.Challenge) error {
	body, err := json.Marshal(map[string]string{"fqdn": c.DNS01TXTRecordName() + ".",
		"value": c.DNS01KeyAuthorization()})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("name server webhook: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(b.user, b.secret.Reveal())
	answer, err := b.client.Do(r)
	if err != nil {
		return fmt.Errorf("name server webhook: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return fmt.Errorf("name server webhook: %s%s said %d %s", b.url, path, answer.StatusCode,
			said)
	}
	return nil
}
