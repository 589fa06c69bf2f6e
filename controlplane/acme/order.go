package acme

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/certificates"
)

// errEnded is for a host that is still in the table of an environment that no longer orders
// certificates: the next pass removes it.
var errEnded = errors.New("the environment orders no certificates any more")

// orderCertificate orders one certificate and stores it.
func (o *Orderer) orderCertificate(ctx context.Context, c *controlplane.ACMECertificate) error {
	how, ok, err := o.Certificates.OpenACME(ctx, o.actor, c.Environment)
	if err != nil {
		return err
	}
	if !ok {
		return errEnded
	}
	client, done, err := o.newClient(ctx, how)
	if err != nil {
		return err
	}
	defer done()
	account, err := o.ensureAccount(ctx, client, &how)
	if err != nil {
		return fmt.Errorf("no account at %s: %w", how.Directory, err)
	}
	key, err := certificates.NewACMEKey()
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	chains, err := client.ObtainCertificateForSANs(ctx, account, key, c.Names)
	if err != nil {
		return o.explainRefusal(ctx, how, err)
	}
	c.Chain = string(chains[0].ChainPEM)
	read, err := controlplane.ReadCertificates(c.Chain)
	if err != nil {
		return fmt.Errorf("%s sent a chain that cannot be used: %w", how.Directory, err)
	}
	c.NextTry = renewalTime(controlplane.ReadCertificateFacts(read[0]))
	return o.Certificates.StoreOrderedCertificate(ctx, o.actor, how, *c, key)
}

// explainRefusal turns the authority's error into one sentence with the name it is
// about. An account that the authority does not know is deleted, and created again at
// the next try.
func (o *Orderer) explainRefusal(ctx context.Context, how certificates.ACMEOrder, err error) error {
	var p acme.Problem
	if !errors.As(err, &p) {
		return err
	}
	if p.Type == acme.ProblemTypeAccountDoesNotExist && how.Account != nil {
		if dropped := o.Certificates.DropACMEAccount(ctx, o.actor, how.Account.ID); dropped != nil {
			return errors.Join(err, dropped)
		}
	}
	name := ""
	if authz, ok := p.Resource.(acme.Authorization); ok {
		name = authz.IdentifierValue() + ": "
	}
	return fmt.Errorf("the authority refused: %s%w", name, err)
}

func (o *Orderer) ensureAccount(
	ctx context.Context, client *acmez.Client, how *certificates.ACMEOrder,
) (acme.Account, error) {
	if a := how.Account; a != nil {
		return acme.Account{Status: acme.StatusValid, Location: a.Location,
			PrivateKey: a.Key}, nil
	}
	key, err := certificates.NewACMEKey()
	if err != nil {
		return acme.Account{}, err
	}
	// The admin who turned this on agreed to the authority's terms in the form.
	account := acme.Account{TermsOfServiceAgreed: true, PrivateKey: key}
	if how.Email != "" {
		account.Contact = []string{"mailto:" + how.Email}
	}
	if how.EABKeyID != "" {
		bound := acme.EAB{KeyID: how.EABKeyID, MACKey: how.Binding.Reveal()}
		if err := account.SetExternalAccountBinding(ctx, client.Client, bound); err != nil {
			return account, err
		}
	}
	if account, err = client.NewAccount(ctx, account); err != nil {
		return account, err
	}
	how.Account = &certificates.ACMEAccount{Location: account.Location, Key: key}
	return account, o.Certificates.StoreACMEAccount(ctx, o.actor, *how)
}

// newClient speaks to the directory and answers the environment's challenge.
func (o *Orderer) newClient(
	ctx context.Context, how certificates.ACMEOrder,
) (*acmez.Client, func(), error) {
	transport := &http.Transport{
		DialContext:         o.Off.Dialer(10 * time.Second).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	if how.Roots != "" {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(how.Roots))
	}
	solvers, err := o.newSolvers(ctx, how)
	if err != nil {
		return nil, nil, err
	}
	known, err := o.fetchDirectory(ctx, how.Directory, transport)
	if err != nil {
		transport.CloseIdleConnections()
		return nil, nil, err
	}
	return &acmez.Client{
		Client: &acme.Client{Directory: how.Directory, UserAgent: "NullOps",
			HTTPClient: &http.Client{Transport: known, Timeout: time.Minute},
			Logger:     o.Log},
		ChallengeSolvers: solvers,
	}, transport.CloseIdleConnections, nil
}
