package main_test

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// dialingAgent runs an agent that nobody can dial. It reaches its control plane through a proxy
// that wants a password and a reverse proxy below a path, with a certificate of its own.
func dialingAgent(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := w.product()
	p.admin.put(t, "/environments/behind", object{"domain": "localhost"}, nil)
	out, errs, code := p.admin.cli(t, "node", "add", "behind", "--env", "behind", "--connect", "agent",
		"--json")
	if code != 0 {
		t.Fatalf("node add: %s", errs)
	}
	line := "-e AGENT_CONNECT=ws" + strings.TrimPrefix(p.url, "http")
	if !strings.Contains(out, line) || strings.Contains(out, " -p ") {
		t.Errorf("the line to run is not for an agent that dials: %s", out)
	}
	n := p.newNode(t, "behind")
	n.token = tokenIn(t, out)
	proxy, passed := startPasswordProxy(t)
	front := startFront(t, p.url)
	n.more = []string{"--agent.connect=wss" + strings.TrimPrefix(front.URL, "https") + "/below/here",
		"--agent.proxy=" + proxy, "--agent.ca=" + writeAuthority(t, front)}
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	// promise: B-02, V-02
	if passed.Load() == 0 {
		t.Error("the agent did not use its proxy")
	}
	if conn, err := net.Dial("tcp", n.address); err == nil {
		_ = conn.Close()
		t.Error("the agent listens all the same")
	}
	p.define(t, "behind", webStep("web"))
	var d apiclient.Deployment
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/deployments",
		object{"name": "behind", "project": "behind", "environment": "behind"}, &d)
	d = p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	url := serviceURL(t, d, "web")
	p.answers(t, url)
	p.admin.follow(t, "/deployments/"+d.Id+"/services/web/logs", "").
		awaitData(t, "line", "listening")
	out, errs, code = p.admin.cli(t, "exec", "behind", "web", "--", "no-such-program")
	if code != 127 {
		t.Errorf("exec: exit code %d, %s%s", code, out, errs)
	}
	// What was between goes away for a moment, and then the agent does.
	front.CloseClientConnections()
	n.await(t, apiclient.NodeStatusOnline)
	p.answers(t, url)
	n.agent.stop(t)
	n.await(t, apiclient.NodeStatusOffline)
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	p.answers(t, url)
	p.admin.remove(t, d.Id)
	log, err := os.ReadFile(n.agent.log)
	if err != nil || strings.Contains(string(log), "proxy-password") {
		t.Errorf("the agent's log has the proxy's password: %v", err)
	}
}

func tokenIn(t *testing.T, enrolment string) string {
	t.Helper()
	_, rest, _ := strings.Cut(enrolment, "AGENT_TOKEN=")
	token, _, found := strings.Cut(rest, " ")
	if !found {
		t.Fatalf("no token in %s", enrolment)
	}
	return token
}

// startFront is a reverse proxy with TLS of its own, below a path.
func startFront(t *testing.T, back string) *httptest.Server {
	t.Helper()
	to, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, "/below/here")
	}})
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front
}

func writeAuthority(t *testing.T, server *httptest.Server) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startPasswordProxy is a CONNECT proxy, and counts what it passed.
func startPasswordProxy(t *testing.T) (at string, passed *atomic.Int64) {
	t.Helper()
	passed = &atomic.Int64{}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("site:proxy-password"))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != want {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		back, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		near, rest, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = back.Close()
			return
		}
		passed.Add(1)
		_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(near, back)
			_ = near.Close()
		}()
		_, _ = io.Copy(back, rest)
		_ = back.Close()
	}))
	t.Cleanup(web.Close)
	return strings.Replace(web.URL, "://", "://site:proxy-password@", 1), passed
}
