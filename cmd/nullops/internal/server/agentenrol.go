package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/wait"
)

// How long one request to enrol may take, and the pauses between those that failed.
const (
	enrolWithin   = 30 * time.Second
	enrolPause    = time.Second
	maxEnrolPause = time.Minute
)

// enrolment is the first contact of a machine that has a provisioning token.
type enrolment struct {
	api  *apiclient.ClientWithResponses
	body apiclient.MachineEnrol
	log  *slog.Logger
}

// enrolMachine makes a node of this machine, and returns the node's token. Without an address to
// listen at, the agent dials the control plane. It repeats the request until the control plane
// answers. A process that dies before it has stored the token asks again with the same key, and
// gets the same node.
func enrolMachine(ctx context.Context, s Settings, listen net.Addr,
	describe func(context.Context) (wire.Inventory, error), log *slog.Logger) (*wire.Token, error) {
	e, err := newEnrolment(ctx, s, listen, describe, log)
	if err != nil {
		return nil, err
	}
	enrolled, err := e.askUntilAnswered(ctx)
	if err != nil {
		return nil, err
	}
	token, err := wire.ParseToken(enrolled.Token)
	if err != nil {
		return nil, fmt.Errorf("enrol at %s: %w", s.Agent.Control, err)
	}
	log.InfoContext(ctx, "this machine is a node now", "node", enrolled.Name,
		"environment", enrolled.Environment)
	return &token, nil
}

func newEnrolment(ctx context.Context, s Settings, listen net.Addr,
	describe func(context.Context) (wire.Inventory, error), log *slog.Logger) (*enrolment, error) {
	identity, err := wire.LoadOrCreateIdentity(s.Agent.Data)
	if err != nil {
		return nil, err
	}
	signature, err := identity.SignEnrolment(s.Agent.Provisioning.Token)
	if err != nil {
		return nil, err
	}
	config, err := s.Agent.controlTLS()
	if err != nil {
		return nil, err
	}
	proxy, err := s.Agent.findProxy()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{Proxy: proxy, TLSClientConfig: config,
		ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport, Timeout: enrolWithin,
		// A redirect would send the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	api, err := apiclient.NewClientWithResponses(strings.TrimRight(s.Agent.Control, "/"),
		apiclient.WithHTTPClient(client))
	if err != nil {
		return nil, fmt.Errorf("setting agent.control: %w", err)
	}
	body := describeMachine(ctx, describe)
	body.Token, body.Certificate, body.Signature = s.Agent.Provisioning.Token, identity.CertDER(),
		signature
	body.Build = new(release)
	if listen == nil {
		body.Connect = new(apiclient.NodeConnectAgent)
	} else {
		body.Address, body.Port = s.Agent.dialedAt(listen)
	}
	return &enrolment{api: api, body: body, log: log}, nil
}

// dialedAt is where the control plane reaches the agent. Without agent.address the control plane
// takes the address that it sees, and the port from here.
func (a AgentSettings) dialedAt(listen net.Addr) (address *string, port *int) {
	if n := portOf(listen.String()); n != 0 {
		port = &n
	}
	if a.Address == "" {
		return nil, port
	}
	// A whole address, or one that only lacks the port.
	if _, _, err := net.SplitHostPort(a.Address); err == nil || port == nil ||
		strings.Contains(a.Address, "://") {
		return new(a.Address), port
	}
	return new(net.JoinHostPort(strings.Trim(a.Address, "[]"), strconv.Itoa(*port))), port
}

// describeMachine says what the machine is. The engine knows best; without it, what the process
// sees is enough.
func describeMachine(
	ctx context.Context, describe func(context.Context) (wire.Inventory, error),
) (body apiclient.MachineEnrol) {
	hardware := apiclient.MachineHardware{Os: new(runtime.GOOS), Arch: new(runtime.GOARCH),
		Cpu: new(float32(runtime.NumCPU()))}
	if name, err := os.Hostname(); err == nil {
		body.Hostname = &name
	}
	if i, err := describe(ctx); err == nil {
		gpus := make([]apiclient.MachineGPU, len(i.GPUs))
		for n, g := range i.GPUs {
			gpus[n] = apiclient.MachineGPU{Id: strconv.Itoa(g.Index), Model: g.Model, Memory: g.Memory}
		}
		hardware = apiclient.MachineHardware{Os: &i.OS, Kernel: &i.Kernel, Arch: &i.Arch,
			EngineVersion: &i.EngineVersion, Cpu: new(float32(i.CPU)), Memory: &i.Memory,
			Disk: &i.Disk, Gpus: &gpus}
		if i.Hostname != "" {
			body.Hostname = &i.Hostname
		}
	}
	body.Hardware = &hardware
	return body
}

// askUntilAnswered repeats the request while the control plane cannot be reached or is busy. A
// refusal ends it.
func (e *enrolment) askUntilAnswered(ctx context.Context) (*apiclient.MachineEnrolled, error) {
	for pause := enrolPause; ; pause = min(2*pause, maxEnrolPause) {
		r, err := e.api.EnrolMachineWithResponse(ctx, e.body)
		switch {
		case err == nil && r.JSON201 != nil:
			return r.JSON201, nil
		case err != nil && isUntrusted(err):
			return nil, fmt.Errorf("enrol this machine: %w; set agent.fingerprint to what the control "+
				"plane logs at its start, or agent.ca to the file of its authority", err)
		case err == nil:
			err = enrolmentError(r)
			if !mayEnrolLater(r.StatusCode()) {
				return nil, err
			}
			after, bad := strconv.Atoi(r.HTTPResponse.Header.Get("Retry-After"))
			if bad == nil && after > 0 {
				pause = min(max(pause, time.Duration(after)*time.Second), maxEnrolPause)
			}
		}
		if ctx.Err() != nil {
			return nil, err
		}
		e.log.WarnContext(ctx, "this machine is no node yet; the control plane is asked again",
			"error", err, "retry_in", pause)
		if err := wait.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// isUntrusted reports whether somebody answered who is not the control plane as far as the agent
// can tell. Asking again does not help.
func isUntrusted(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	return unverified || errors.Is(err, errOtherControl)
}

func mayEnrolLater(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// enrolmentError is what the control plane said, as a sentence with a remedy.
func enrolmentError(r *apiclient.EnrolMachineResponse) error {
	p := r.ApplicationproblemJSONDefault
	if p == nil {
		return fmt.Errorf("the control plane did not enrol this machine: HTTP status %d; check that "+
			"agent.control is the URL of the control plane itself", r.StatusCode())
	}
	said := ""
	for _, part := range []*string{p.Detail, p.Remedy} {
		if part != nil && *part != "" {
			said = strings.TrimLeft(said+". "+strings.TrimRight(*part, "."), ". ")
		}
	}
	return errors.New("the control plane did not enrol this machine: " + said)
}
