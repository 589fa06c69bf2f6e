package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
)

// An agent that ends says what keeps running, and how to remove it; it says nothing where nothing
// runs, or where the engine cannot be asked.
func TestLogRunning(t *testing.T) {
	service := func(deployment string) agent.Object {
		return agent.Object{Kind: agent.KindService, Deployment: deployment}
	}
	for name, c := range map[string]struct {
		all  []agent.Object
		err  error
		want string
	}{
		"services": {[]agent.Object{service("a"), service("a"), service("b"),
			{Kind: agent.KindVolume, Deployment: "c"}}, nil, "services=3 deployments=2"},
		"none":      {[]agent.Object{{Kind: agent.KindNetwork, Deployment: "a"}}, nil, ""},
		"no engine": {[]agent.Object{service("a")}, errors.New("down"), ""},
	} {
		var out bytes.Buffer
		logRunning(t.Context(), func(context.Context) ([]agent.Object, error) { return c.all, c.err },
			slog.New(slog.NewTextHandler(&out, nil)))
		said := out.String()
		if (c.want == "") != (said == "") || !strings.Contains(said, c.want) ||
			said != "" && !strings.Contains(said, "nullops remove") {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}
