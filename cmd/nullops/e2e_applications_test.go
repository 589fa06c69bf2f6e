package main_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/servertest"
	"github.com/nullops/nullops/internal/testpart"
)

// applications runs what others wrote, unchanged: a Compose file, a gRPC service and an OIDC
// provider. WordPress is in applications_test.go, for `make test-apps`.
func applications(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.ingress.stop(t)
	secure := freeAddress(t)
	p.startIngress(t, "NULLOPS_INGRESS_SECURE="+secure)
	p.applyShop(t)
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/certificate-authority", nil, nil)
	n := p.enrol(t, "apps", "qa")
	t.Run("a shared volume and a migration", func(t *testing.T) { migratedVolume(t, p, n) })
	t.Run("a stream that the service ends", func(t *testing.T) { endedStreams(t, p, secure) })
	t.Run("a group that is a string", func(t *testing.T) { stringGroup(t, p) })
}

// migratedVolume imports a Compose file: its migration becomes a job, which ends before the
// services start that read and write the same volume.
func migratedVolume(t *testing.T, p *product, n *node) {
	documents := p.command(t, 0, "import", "testdata/applications/shared-volume.yaml",
		"--project", "site", "--set", "REGISTRY="+p.w.registry)
	p.command(t, 0, "apply", "-f", fileOf(t, documents))
	d := p.admin.deployReady(t, "site", "site", nil)
	run := p.admin.run(t, d)
	migrate, web := findStep(t, run, "migrate"), findStep(t, run, "web")
	if migrate.Kind != apiclient.StepKindJob || migrate.EndedAt == nil || web.StartedAt == nil ||
		web.StartedAt.Before(*migrate.EndedAt) {
		t.Errorf("the migration is %+v, and the service after it %+v", migrate, web)
	}
	for path, want := range map[string]int{"/index.html": 200, "/edited.html": 200, "/mine": 404} {
		eventually(t, "what is in the volume under "+path, func() string {
			a := p.visit(t, serviceURL(t, d, "web")+path)
			if a.status != want || want == 200 && a.body != "migrated\n" {
				return a.String()
			}
			return ""
		})
	}
	n.mustBeThere(t, d.Id, "container", "network", "volume")
	p.admin.remove(t, d.Id)
	n.nothingLeft(t, d.Id)
}

// endedStreams sends requests whose bodies never end to a service that ends the response, over
// HTTP/2 as gRPC does and over HTTP/1.1.
func endedStreams(t *testing.T, p *product, secure string) {
	image := dockertest.PublishActorImage(t, p.w.docker, "nullops-test/stream",
		`ENTRYPOINT ["/actor"]`)
	p.admin.put(t, "/services/stream", object{"registry": "local", "image": image.Repository,
		"tag_mode": "pinned", "tag": image.Tag}, nil)
	service := webStep("web")
	s := service["service"].(object)
	s["name"], s["command"], s["env"] = "stream", []string{"stream", "8080"}, object{}
	p.define(t, "stream", service)
	d := p.admin.deployReady(t, "stream", "stream", nil)
	host, err := url.Parse(serviceURL(t, d, "web"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{ForceAttemptHTTP2: true,
		DialContext:     dialTo(&net.Dialer{}, secure),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	address := "https://" + host.Hostname() + ":" + portOf(secure)
	for path, want := range map[string]string{"/message": "message", "/nothing": ""} {
		streamEnds(t, client, address+path, want)
		earlyEnds(t, p, host.Host, path, want)
	}
	p.admin.remove(t, d.Id)
}

// atOnce is far below every limit that could end a stream instead.
const atOnce = 2 * time.Second

// streamEnds is a gRPC call. The first one also finds the way to the service.
func streamEnds(t *testing.T, client *http.Client, address, want string) {
	t.Helper()
	for range 2 {
		in, open := io.Pipe()
		began := time.Now()
		res, err := client.Post(address, "application/grpc", in)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		took := time.Since(began)
		if err != nil || res.ProtoMajor != 2 || string(body) != want || took > atOnce ||
			res.Trailer.Get("Grpc-Status")+res.Header.Get("Grpc-Status") != "16" {
			t.Errorf("%s: %s %q, %v, %v %v after %s", address, res.Proto, body, err, res.Header,
				res.Trailer, took)
		}
		_, _ = res.Body.Close(), open.Close()
	}
}

// earlyEnds does the same over HTTP/1.1.
func earlyEnds(t *testing.T, p *product, host, path, want string) {
	t.Helper()
	c, err := net.Dial("tcp", p.ingressAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	began := time.Now()
	_ = c.SetDeadline(began.Add(patience))
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: text/plain\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", path, host)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if took := time.Since(began); err != nil || res.StatusCode != http.StatusOK ||
		string(body) != want || took > atOnce {
		t.Errorf("%s over HTTP/1.1: %s %q, %v after %s", path, res.Status, body, err, took)
	}
}

// stringGroup signs somebody in whose provider sends the one group as a string. Its words are no
// groups, and its name is one.
func stringGroup(t *testing.T, p *product) {
	provider := servertest.NewOIDC(t, func(string, url.Values) {})
	for _, c := range []struct{ admins, role string }{{"admins", "user"}, {"Site admins", "admin"}} {
		p.controlPlane.stop(t)
		p.startControlPlane(t, "NULLOPS_OIDC_ISSUER="+provider.Issuer,
			"NULLOPS_OIDC_CLIENT="+provider.ClientID, "NULLOPS_OIDC_SECRET="+provider.ClientSecret,
			"NULLOPS_OIDC_ADMINS="+c.admins)
		provider.Queue(servertest.Person{Subject: "subject-1", Token: map[string]any{
			"preferred_username": "ada", "groups": "Site admins"}})
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Timeout: patience, Jar: jar}
		page := openPage(t, browser, p.url+"/oidc/start")
		var me apiclient.Me
		if a := openPage(t, browser, p.url+"/api/v1/me"); json.Unmarshal([]byte(a.body), &me) != nil ||
			string(me.Role) != c.role {
			t.Errorf("with oidc.admins=%q somebody in \"Site admins\" is %s, after %s", c.admins, a, page)
		}
	}
}

func openPage(t *testing.T, browser *http.Client, address string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sendRequest(t, browser, r)
}
