package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// Diagnose asks a node's agent for what its process knows of itself.
func (d *Dialer) Diagnose(
	ctx context.Context, id controlplane.NodeID,
) (files []controlplane.DiagnosisFile, err error) {
	answer, err := d.ask(ctx, id, http.MethodGet, wire.PathDiagnosis, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := wire.DecodeDiagnosis(answer.Body)
	for _, f := range said.Files {
		files = append(files, controlplane.DiagnosisFile(f))
	}
	return files, err
}

// SetLogLevel has a component of a node's agent log at another level until then.
func (d *Dialer) SetLogLevel(
	ctx context.Context, id controlplane.NodeID, l controlplane.LogLevel,
) error {
	body, err := json.Marshal(wire.LogLevel{Component: l.Component, Level: l.Level,
		Seconds: int(max(0, time.Until(l.Until)).Seconds())})
	if err != nil {
		return fmt.Errorf("encode log level: %w", err)
	}
	answer, err := d.ask(ctx, id, http.MethodPut, wire.PathLogLevel, body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// ask sends one request to an agent, on a connection of its own.
func (d *Dialer) ask(ctx context.Context, id controlplane.NodeID, method, path string,
	body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+path,
		bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	client := newOneShotClient(func(ctx context.Context) (net.Conn, error) { return d.Dial(ctx, id) })
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	if answer.StatusCode/100 != 2 {
		defer func() { _ = answer.Body.Close() }()
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		if answer.StatusCode == http.StatusConflict {
			return nil, &controlplane.Error{Kind: controlplane.Conflict, Code: "node_refused",
				Message: "the agent says: " + strings.TrimSpace(string(why))}
		}
		return nil, &controlplane.Error{Kind: controlplane.Unavailable, Code: "agent_refused",
			Message: "the agent refused: " + strings.TrimSpace(string(why)),
			Remedy:  "Check that the agent runs the same release as the control plane."}
	}
	return answer, nil
}
