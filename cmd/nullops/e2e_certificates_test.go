package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/controlplane/acme/acmetest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// certificateOrders orders an environment's certificates with the command line.
// The authority asks the ingress at its plain port, which sends everybody else
// to HTTPS, and what it gives is served in the handshake.
func certificateOrders(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.ingress.stop(t)
	secure := freeAddress(t)
	p.startIngress(t, "NULLOPS_INGRESS_SECURE="+secure)
	p.applyShop(t)
	p.admin.put(t, "/environments/acme", object{"domain": "acme.test"}, nil)
	(&dummyMachine{knobs: dummy.Hooks{Serve: oneAnswer}}).enrol(t, p, "acmey", "acme",
		agent.Config{Data: t.TempDir(), Build: "e2e"})
	p.define(t, "certs", webStep("web"))
	var d apiclient.Deployment
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/deployments",
		object{"name": "certs", "project": "certs", "environment": "acme"}, &d)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	address, err := url.Parse(serviceURL(t, d, "web"))
	if err != nil {
		t.Fatal(err)
	}
	p.command(t, 0, "gate", "environment", "acme", "--redirect-https")
	number, err := strconv.Atoi(portOf(p.ingressAddr))
	if err != nil {
		t.Fatal(err)
	}
	o := &ordering{product: p, secure: secure, host: address.Hostname(),
		Authority: acmetest.NewAuthority(t, acmetest.NewNameServer(t), number)}
	o.refuseFlags(t)
	o.orderCertificate(t)
	o.stopOrdering(t)
}

// ordering is what the steps of certificateOrders share.
type ordering struct {
	*product
	*acmetest.Authority
	// secure is the ingress's port of HTTPS, host that of a deployment.
	secure, host string
}

// refuseFlags passes flags that cannot go together, or that nothing would use.
func (o *ordering) refuseFlags(t *testing.T) {
	t.Helper()
	for _, bad := range [][]string{
		{"--retry", "--end"}, {"--challenge", "http-01", "--retry"},
		{"--challenge", "http-01", "--end"}, {"--directory", o.Directory}, {"--roots", "root.pem"},
		{"--email", "ops@acme.test"}, {"--email", "ops@acme.test", "--retry"},
		{"--dns", "rfc2136"}, {"--dns-server", "ns:53"}, {"--dns-user", "key"},
		{"--dns-secret", "key", "--end"}, {"--eab-key-id", "me"}, {"--eab-key", "key"},
	} {
		_, errs, code := o.admin.cli(t, append([]string{"certificate", "orders", "acme"}, bad...)...)
		if code != exitUsage || !strings.Contains(errs, bad[0]) && !strings.Contains(errs, "retry") {
			t.Errorf("%v: exit code %d: %s", bad, code, errs)
		}
	}
	if _, errs, code := o.admin.cli(t, "certificate", "orders", "acme"); code != exitRefused {
		t.Errorf("orders that nobody made: exit code %d: %s", code, errs)
	}
}

// orderCertificate orders from an authority that is busy at first, and tries again.
func (o *ordering) orderCertificate(t *testing.T) {
	t.Helper()
	if err := o.visitOverTLS(t); err == nil {
		t.Error("HTTPS is trusted before anything was ordered")
	}
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, []byte(o.TLS), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Busy.Store(true)
	out := o.command(t, 0, "certificate", "orders", "acme", "--challenge", "http-01", "--directory",
		o.Directory, "--roots", roots, "--email", "ops@acme.test")
	if !strings.Contains(out, "http-01 from "+o.Directory) {
		t.Errorf("orders says:\n%s", out)
	}
	o.await(t, "failing", "503")
	o.command(t, 0, "certificate", "orders", "acme", "--retry")
	refused := map[string]string{"certificate.order": "503"}
	o.awaitAlerts(t, true, refused) // promise: O-02
	o.Busy.Store(false)
	o.command(t, 0, "certificate", "orders", "acme", "--retry")
	o.await(t, "valid", o.host)
	o.awaitAlerts(t, false, refused) // promise: O-02
	eventually(t, "the ingress shows what was ordered", func() string {
		if err := o.visitOverTLS(t); err != nil {
			return err.Error()
		}
		return ""
	})
}

// stopOrdering orders no more: what there is serves on.
func (o *ordering) stopOrdering(t *testing.T) {
	t.Helper()
	o.command(t, 0, "certificate", "orders", "acme", "--end")
	if out := o.command(t, 0, "certificate", "orders", "acme"); !strings.Contains(out,
		"nothing is ordered any more") || !strings.Contains(out, o.host) {
		t.Errorf("after the end, orders says:\n%s", out)
	}
	if err := o.visitOverTLS(t); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// await waits until the one certificate is in a state, and the line says this.
func (o *ordering) await(t *testing.T, state, says string) {
	t.Helper()
	eventually(t, "the certificate is "+state, func() string {
		var shown apiclient.CertificateOrders
		o.admin.get(t, "/environments/acme/certificate-orders", &shown)
		if len(shown.Certificates) != 1 || shown.Certificates[0].State != state {
			return "it is not yet"
		}
		return ""
	})
	if out := o.command(t, 0, "certificate", "orders", "acme"); !strings.Contains(out, says) {
		t.Errorf("of a certificate that is %s, orders says:\n%s", state, out)
	}
}

// visitOverTLS asks the deployment over HTTPS, as a browser that trusts the authority:
// plain HTTP leads there.
func (o *ordering) visitOverTLS(t *testing.T) error {
	t.Helper()
	want := "https://" + o.host + ":" + portOf(o.secure) + "/"
	plain := "http://" + o.host + ":" + portOf(o.ingressAddr) + "/"
	if a := o.visit(t, plain); a.header.Get("Location") != want {
		t.Errorf("plain HTTP is answered %s with Location %q", a, a.header.Get("Location"))
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(o.Root))
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext:     dialTo(&net.Dialer{}, o.secure),
		TLSClientConfig: &tls.Config{RootCAs: roots}}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, want, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		t.Errorf("over HTTPS the deployment answers %s", answer.Status)
	}
	return answer.Body.Close()
}
