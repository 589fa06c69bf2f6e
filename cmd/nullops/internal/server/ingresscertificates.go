package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/keyring"
)

// servedCertificate is a certificate with its key, both in PEM. It is only stored sealed.
type servedCertificate struct {
	Name  string `json:"name"`
	Chain string `json:"chain"`
	Key   string `json:"key"`
}

// servedCertificates is everything that the ingress serves over HTTPS.
type servedCertificates struct {
	Given     []servedCertificate `json:"given"`
	Authority *servedCertificate  `json:"authority,omitempty"`
}

// certificateSource is where the ingress gets its certificates from.
type certificateSource interface {
	// listFingerprints changes whenever openServed would return something else.
	listFingerprints(ctx context.Context) ([]string, error)
	openServed(ctx context.Context) (servedCertificates, error)
}

// newCertificateSource is what the process's keys open.
func (b *serverBase) newCertificateSource() certificateSource {
	if b.keys == nil {
		return publishedCertificates{b.ingressKeys}
	}
	return catalogCertificates{b.certificates}
}

// catalogCertificates are opened with the master key. Each opening is an entry of the audit.
type catalogCertificates struct{ *certificates.Certificates }

func (c catalogCertificates) listFingerprints(ctx context.Context) ([]string, error) {
	out := []string{}
	all, err := c.ListCertificates(ctx, ingressTask)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		out = append(out, one.Fingerprint)
	}
	ordered, err := c.OrderedCertificates(ctx, ingressTask)
	if err != nil {
		return nil, err
	}
	for _, one := range ordered {
		if one.Fingerprint != "" {
			out = append(out, one.Fingerprint)
		}
	}
	a, err := c.Authority(ctx, ingressTask)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return out, nil
	}
	return append(out, "authority "+a.Fingerprint), err
}

func (c catalogCertificates) openServed(
	ctx context.Context,
) (out servedCertificates, err error) {
	all, err := c.OpenCertificates(ctx, ingressTask)
	if err != nil {
		return out, err
	}
	for _, one := range all {
		out.Given = append(out.Given,
			servedCertificate{Name: one.Name, Chain: one.Chain, Key: one.Key.Reveal()})
	}
	a, ok, err := c.OpenAuthority(ctx, ingressTask)
	if err != nil || !ok {
		return out, err
	}
	out.Authority = &servedCertificate{Name: a.Name, Chain: a.Chain, Key: a.Key.Reveal()}
	return out, nil
}

// publishedCertificates are those that the control plane sealed with the ingress's key.
type publishedCertificates struct{ keys *keyring.IngressKeyring }

func (p publishedCertificates) listFingerprints(ctx context.Context) ([]string, error) {
	content, err := p.keys.OpenCertificates(ctx, ingressTask)
	if err != nil || content == nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return []string{hex.EncodeToString(sum[:])}, nil
}

func (p publishedCertificates) openServed(
	ctx context.Context,
) (out servedCertificates, err error) {
	content, err := p.keys.OpenCertificates(ctx, ingressTask)
	if err != nil || content == nil {
		return out, err
	}
	if json.Unmarshal(content, &out) != nil {
		// The parser's words may quote a key.
		return out, fmt.Errorf("the published certificates are not in the form of this release")
	}
	return out, nil
}

// publishCertificates keeps what an ingress of its own keys serves up to date.
func (b *serverBase) publishCertificates(ctx context.Context) error {
	if b.ingressKeys == nil {
		return nil
	}
	f := &ingressFeed{certificates: catalogCertificates{b.certificates}, listener: b.listener,
		log: b.logOf("ingress")}
	wake := b.listener.Subscribe("", controlplane.TopicCatalog)
	defer wake.Close()
	f.repeatOnWake(ctx, wake.Wake, func() {
		if err := b.publishIfChanged(ctx, f); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "certificates not published for the ingress", "error", err)
		}
	})
	return nil
}

func (b *serverBase) publishIfChanged(ctx context.Context, f *ingressFeed) error {
	now, err := f.certificates.listFingerprints(ctx)
	if err != nil || f.last != nil && reflect.DeepEqual(now, f.last) {
		return err
	}
	var all servedCertificates
	if len(now) > 0 {
		if all, err = f.certificates.openServed(ctx); err != nil {
			return err
		}
	}
	content, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := b.ingressKeys.PutCertificates(ctx, ingressTask, content); err != nil {
		return err
	}
	f.last = now
	return nil
}
