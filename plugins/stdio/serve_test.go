package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/plugins/stdio"
)

func serveOnce(t *testing.T, h stdio.Handlers, in string) (stdio.Response, string, int) {
	t.Helper()
	var out, log bytes.Buffer
	code := stdio.ServeOn(t.Context(), h, strings.NewReader(in), &out, &log)
	resp, err := stdio.DecodeResponse(&out)
	if err != nil {
		t.Fatalf("the agent would refuse the answer: %v", err)
	}
	return resp, log.String(), code
}

func TestServe_GivesTheHandlerParametersAndSecrets(t *testing.T) {
	h := stdio.Handlers{Create: func(
		_ context.Context, req stdio.Request, log *slog.Logger,
	) (stdio.Response, error) {
		var p struct {
			Name string `json:"name"`
		}
		if err := req.Bind(&p); err != nil {
			return stdio.Response{}, err
		}
		log.Info("working", "services", req.Services["db"].Port)
		return stdio.Response{Success: true, Outputs: map[string]any{
			"name": p.Name, "secret": req.Secrets["token"], "project": req.Deployment.Project,
		}}, nil
	}}
	resp, log, code := serveOnce(t, h, `{"action":"create","parameters":{"name":"n"},
		"secrets":{"token":"s"},"deployment":{"project":"shop"},
		"services":{"db":{"host":"db","port":5432}}}`)
	if code != stdio.ExitSuccess || resp.Outputs["name"] != "n" || resp.Outputs["secret"] != "s" ||
		resp.Outputs["project"] != "shop" {
		t.Errorf("got %+v with exit code %d", resp, code)
	}
	if !strings.Contains(log, "services=5432") || strings.Contains(log, "time=") {
		t.Errorf("log: %q", log)
	}
}

func TestServe_TurnsEveryFailureIntoOneAnswerAndAnExitCode(t *testing.T) {
	create := func(do func() (stdio.Response, error)) stdio.Handlers {
		return stdio.Handlers{Create: func(
			context.Context, stdio.Request, *slog.Logger,
		) (stdio.Response, error) {
			return do()
		}}
	}
	fail := create(func() (stdio.Response, error) { return stdio.Response{}, errors.New("no room") })
	cases := []struct {
		name     string
		handlers stdio.Handlers
		in, says string
		code     int
	}{
		{"handler fails", fail, `{"action":"create"}`, "no room", stdio.ExitFailed},
		{"handler says no", create(func() (stdio.Response, error) {
			return stdio.Response{Output: "rather not"}, nil
		}), `{"action":"create"}`, "rather not", stdio.ExitFailed},
		{"handler panics", create(func() (stdio.Response, error) { panic("oops") }),
			`{"action":"create"}`, "crashed: oops", stdio.ExitFailed},
		{"no delete", fail, `{"action":"delete"}`, `does not offer the action "delete"`,
			stdio.ExitFailed},
		{"empty stdin", fail, "", "stdin is empty", stdio.ExitUsage},
		{"unknown action", fail, `{"action":"explode"}`, `action "explode" is not known`,
			stdio.ExitUsage},
		{"no JSON", fail, "hello", "not one JSON object", stdio.ExitUsage},
		{"two requests", fail, `{"action":"create"}{"action":"create"}`, "not one JSON", stdio.ExitUsage},
		{"endless request", fail, strings.Repeat(" ", stdio.MaxRequest+1), "larger than",
			stdio.ExitUsage},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			resp, _, code := serveOnce(t, c.handlers, c.in)
			if code != c.code || resp.Success || !strings.Contains(resp.Output, c.says) {
				t.Errorf("got %+v with exit code %d; want %q with %d", resp, code, c.says, c.code)
			}
		})
	}
}

func TestServe_SaysThatItWasStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := stdio.Handlers{Create: func(
		ctx context.Context, _ stdio.Request, _ *slog.Logger,
	) (stdio.Response, error) {
		cancel()
		return stdio.Response{}, ctx.Err()
	}}
	var out, log bytes.Buffer
	stdio.ServeOn(ctx, h, strings.NewReader(`{"action":"create"}`), &out, &log)
	if !strings.Contains(out.String(), "stopped before it was finished") {
		t.Errorf("got %s", out.String())
	}
}

func TestBind_NamesTheWrongParameter(t *testing.T) {
	var p struct {
		Port int `json:"port"`
	}
	for in, says := range map[string]any{
		`parameter "port" must be a int, not a string`: map[string]any{"port": "x"},
		`unknown field "prot"`:                         map[string]any{"prot": 1},
	} {
		err := stdio.Request{Parameters: says.(map[string]any)}.Bind(&p)
		if err == nil || !strings.Contains(err.Error(), in) {
			t.Errorf("got %v, want %q", err, in)
		}
	}
}

// What the agent writes is what a plugin reads.
func TestWriteRequest_RoundTrip(t *testing.T) {
	want := stdio.Request{
		Action: stdio.ActionDelete, Parameters: map[string]any{"a": "b"},
		Secrets: map[string]string{"s": "v"}, Outputs: map[string]any{"n": 1.0},
		Services:   map[string]stdio.Service{"db": {Host: "db", Port: 5432}},
		Deployment: stdio.Deployment{Name: "d"}, Run: stdio.Run{ID: "r", Step: "s", Attempt: 2},
	}
	var wire bytes.Buffer
	if err := stdio.WriteRequest(&wire, want); err != nil {
		t.Fatal(err)
	}
	got, err := stdio.ReadRequest(&wire)
	if err != nil || got.Run != want.Run || got.Services["db"] != want.Services["db"] ||
		got.Secrets["s"] != "v" || got.Outputs["n"] != 1.0 {
		t.Errorf("got %+v, %v", got, err)
	}
}
