package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

const adminPassword = "the-admins-own"

type server struct{ port string }

func newServer(t *testing.T) server {
	t.Helper()
	return server{stdiotest.RabbitMQ(t, "127.0.0.1", adminPassword).Port}
}

func TestSamples_OfInput(t *testing.T) {
	stdiotest.Samples(t, stdiotest.Build(t), "input-", map[string]string{
		"CLOSED": stdiotest.FreePort(t),
	})
}

// One server serves all: it takes many seconds to start.
func TestPlugin_OnARealServer(t *testing.T) {
	s, program := newServer(t), stdiotest.Build(t)
	t.Run("samples", func(t *testing.T) {
		stdiotest.Samples(t, program, "server-", map[string]string{
			"PORT": s.port, "PASSWORD": adminPassword,
		})
		s.expectNothing(t)
	})
	t.Run("check finds an account that is gone", func(t *testing.T) {
		port, err := strconv.Atoi(s.port)
		if err != nil {
			t.Fatal(err)
		}
		stdiotest.Check(t, program, stdio.Request{
			Parameters: map[string]any{"host": "127.0.0.1", "management_port": port,
				"admin_user": "admin", "vhost": "shop/42"},
			Secrets: map[string]string{"adminPassword": adminPassword},
		}, func() {
			resp, err := s.request(t.Context(), http.MethodDelete, "users/shop%2F42", "", "admin",
				adminPassword)
			if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusNoContent {
				t.Fatalf("remove the account: %v, %v", resp, err)
			}
		})
		s.call(t, program, stdio.ActionDelete)
		s.expectNothing(t)
	})
	t.Run("a virtual host of its own", func(t *testing.T) { s.ownHost(t, program) })
}

// The account works in its own virtual host and nowhere else; delete takes the
// queues too.
func (s server) ownHost(t *testing.T, program string) {
	first := s.call(t, program, stdio.ActionCreate)
	second := s.call(t, program, stdio.ActionCreate)
	if first["password"] == second["password"] || len(second["password"].(string)) < 20 {
		t.Error("the second create gave no new password of at least 20 letters")
	}
	if s.accepts(t, "shop/42", first["password"].(string)) {
		t.Error("the first password still works")
	}
	if !s.accepts(t, "shop/42", second["password"].(string)) {
		t.Error("the account is not accepted")
	}
	rights := s.get(t, "users/shop%2F42/permissions")
	if len(rights) != 1 || rights[0]["vhost"] != "shop/42" {
		t.Errorf("the account has rights %v", rights)
	}
	s.put(t, "queues/shop%2F42/orders", `{"durable":true}`)
	s.call(t, program, stdio.ActionDelete)
	s.expectNothing(t)
	s.call(t, program, stdio.ActionDelete)
}

func (s server) call(t *testing.T, program string, action stdio.Action) map[string]any {
	t.Helper()
	port, err := strconv.Atoi(s.port)
	if err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(stdio.Request{Action: action,
		Parameters: map[string]any{"host": "127.0.0.1", "management_port": port,
			"admin_user": "admin", "vhost": "shop/42"},
		Secrets: map[string]string{"adminPassword": adminPassword}})
	if err != nil {
		t.Fatal(err)
	}
	got := stdiotest.Run(t.Context(), t, program, request)
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%s: %v %s\n%s", action, err, got.Stdout, got.Stderr)
	}
	password, _ := resp.Outputs["password"].(string)
	for _, secret := range []string{adminPassword, password} {
		if secret != "" && strings.Contains(string(got.Stderr), secret) {
			t.Errorf("the log holds a password:\n%s", got.Stderr)
		}
	}
	return resp.Outputs
}

func (s server) request(ctx context.Context, method, path, body, user, password string) (
	*http.Response, error,
) {
	req, err := http.NewRequestWithContext(ctx, method,
		"http://127.0.0.1:"+s.port+"/api/"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(user, password)
	return http.DefaultClient.Do(req)
}

// accepts asks as the account. It may not see the API, but a right password is distinguished from a
// wrong one by the reason.
func (s server) accepts(t *testing.T, user, password string) bool {
	t.Helper()
	resp, err := s.request(t.Context(), http.MethodGet, "whoami", "", user, password)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct{ Reason string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(answer.Reason, "Not management user")
}

func (s server) list(ctx context.Context, path string) ([]map[string]any, error) {
	resp, err := s.request(ctx, http.MethodGet, path, "", "admin", adminPassword)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	var all []map[string]any
	_ = json.NewDecoder(resp.Body).Decode(&all) // the overview is an object
	return all, nil
}

func (s server) get(t *testing.T, path string) []map[string]any {
	t.Helper()
	all, err := s.list(t.Context(), path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return all
}

func (s server) put(t *testing.T, path, body string) {
	t.Helper()
	resp, err := s.request(t.Context(), http.MethodPut, path, body, "admin", adminPassword)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatalf("%s: status %d", path, resp.StatusCode)
	}
}

// expectNothing looks for all but the server's own.
func (s server) expectNothing(t *testing.T) {
	t.Helper()
	for path, own := range map[string]int{"vhosts": 1, "users": 1, "permissions": 1, "queues": 0} {
		if all := s.get(t, path); len(all) != own {
			t.Errorf("left in %s: %v", path, all)
		}
	}
}
