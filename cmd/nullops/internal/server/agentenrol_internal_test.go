package server

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/cmd/nullops/internal/pin"
	"github.com/nullops/nullops/controlplane/apiclient"
)

const provisioningCanary = "nopp1_canary"

// enrolTest is a control plane that enrols whoever asks, and counts the tokens that reach it.
type enrolTest struct {
	*httptest.Server
	tokens atomic.Int32
	// answers are statuses before the good one.
	answers []int
	heard   apiclient.MachineEnrol
}

func newEnrolTest(t *testing.T) *enrolTest {
	t.Helper()
	e := &enrolTest{}
	e.Server = httptest.NewTLSServer(http.HandlerFunc(e.serve))
	e.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(e.Close)
	return e
}

func (e *enrolTest) serve(w http.ResponseWriter, r *http.Request) {
	n := int(e.tokens.Add(1))
	if n <= len(e.answers) {
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(e.answers[n-1])
		_, _ = w.Write([]byte(`{"detail":"this is not so","remedy":"Do that."}`))
		return
	}
	_ = json.NewDecoder(r.Body).Decode(&e.heard)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(apiclient.MachineEnrolled{Name: "gpu-1", Environment: "qa",
		Token: wire.NewToken(wire.SPKI{1}).Reveal()})
}

// enrol is the first start of an agent with these settings.
func (e *enrolTest) enrol(t *testing.T, change func(*AgentSettings)) (*wire.Token, error) {
	t.Helper()
	e.tokens.Store(0)
	s := defaultSettings()
	s.Agent.Data = t.TempDir()
	s.Agent.Control, s.Agent.Provisioning.Token = e.URL+"/", provisioningCanary
	change(&s.Agent)
	if err := s.checkToken(); err != nil {
		return nil, err
	}
	nothing := func(context.Context) (wire.Inventory, error) {
		return wire.Inventory{}, errors.New("no engine")
	}
	var listen net.Addr = &net.TCPAddr{Port: 5017}
	if s.Agent.Connect != "" {
		listen = nil
	}
	return enrolMachine(t.Context(), s, listen, nothing, slog.New(slog.DiscardHandler))
}

// The token goes to nobody but the control plane: one that an authority vouches for, or the
// certificate that was given. A redirect is not followed.
func TestEnrolMachine_TrustsTheControlPlaneOnly(t *testing.T) {
	t.Parallel()
	e := newEnrolTest(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	print := pin.FormatFingerprint(e.Certificate().Raw)
	other := "sha256:" + strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		change  func(*AgentSettings)
		answers []int
		// want is a part of the error; without one the machine is enrolled.
		want   string
		tokens int32
	}{
		"an authority of the installation": {change: func(a *AgentSettings) { a.CA = ca }, tokens: 1},
		"the certificate itself": {
			change: func(a *AgentSettings) { a.Fingerprint = print }, tokens: 1},
		"nothing": {func(*AgentSettings) {}, nil, "agent.fingerprint", 0},
		"another certificate": {
			func(a *AgentSettings) { a.Fingerprint = other }, nil, "another certificate", 0},
		"no fingerprint": {func(a *AgentSettings) { a.Fingerprint = "x" }, nil, "hexadecimal", 0},
		"plain HTTP": {
			func(a *AgentSettings) { a.Control = "http://control.example" }, nil, "https://", 0},
		"no control plane": {func(a *AgentSettings) { a.Control = "" }, nil, "agent.control", 0},
		"a file that is none": {
			func(a *AgentSettings) { a.CA = "/nowhere/ca.pem" }, nil, "agent.ca", 0},
		"a redirect": {func(a *AgentSettings) { a.CA = ca },
			[]int{http.StatusTemporaryRedirect}, "this is not so", 1},
		"a refusal": {func(a *AgentSettings) { a.CA = ca },
			[]int{http.StatusForbidden}, "this is not so. Do that", 1},
		"busy at first": {func(a *AgentSettings) { a.CA = ca },
			[]int{http.StatusServiceUnavailable}, "", 2},
	} {
		e.answers = c.answers
		token, err := e.enrol(t, c.change)
		if (c.want == "") != (err == nil && token != nil) ||
			err != nil && (!strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), provisioningCanary)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if n := e.tokens.Load(); n != c.tokens {
			t.Errorf("%s: the token was sent %d times, want %d", name, n, c.tokens)
		}
	}
}

// An address without a port gets the one on which the agent listens.
func TestEnrolMachine_SaysWhereItIsDialed(t *testing.T) {
	t.Parallel()
	e := newEnrolTest(t)
	print := pin.FormatFingerprint(e.Certificate().Raw)
	for set, want := range map[string]string{"": "", "10.0.0.7": "10.0.0.7:5017",
		"node.example:6000": "node.example:6000", "2001:db8::1": "[2001:db8::1]:5017"} {
		_, err := e.enrol(t, func(a *AgentSettings) { a.Address, a.Fingerprint = set, print })
		got := ""
		if e.heard.Address != nil {
			got = *e.heard.Address
		}
		if err != nil || got != want || e.heard.Port == nil || *e.heard.Port != 5017 {
			t.Errorf("agent.address %q is sent as %q: %v", set, got, err)
		}
		e.heard = apiclient.MachineEnrol{}
	}
	_, err := e.enrol(t, func(a *AgentSettings) { a.Connect, a.Fingerprint = "wss://c", print })
	if err != nil || e.heard.Address != nil || e.heard.Port != nil || e.heard.Connect == nil ||
		*e.heard.Connect != apiclient.NodeConnectAgent {
		t.Errorf("an agent that dials sends %+v: %v", e.heard, err)
	}
}

// The short names of the settings are those that people write into a line of Docker.
func TestLoadSettings_ShortNamesOfTheAgent(t *testing.T) {
	t.Parallel()
	s, err := loadSettings(nil, []string{"AGENT_PROVISIONING_TOKEN=p", "AGENT_CONTROL=https://c",
		"AGENT_ADDRESS=a:1", "AGENT_FINGERPRINT=sha256:x", "AGENT_TOKEN=t"})
	a := s.Agent
	if err != nil || a.Provisioning.Token != "p" || a.Control != "https://c" || a.Address != "a:1" ||
		a.Fingerprint != "sha256:x" || a.Token != "t" {
		t.Errorf("%+v: %v", a, err)
	}
}
