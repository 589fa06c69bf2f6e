package fleet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// Check has a node call the check action of each plugin of a deployment that
// declares it. It takes as long as the plugins do; the end of ctx ends them.
func (d *Dialer) Check(ctx context.Context, id controlplane.NodeID,
	deployment controlplane.DeploymentID) ([]controlplane.StepCheck, error) {
	where := "http://agent/v1/deployments/" + url.PathEscape(string(deployment)) + "/checks"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, where, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for checks: %w", err)
	}
	client := newOneShotClient(func(ctx context.Context) (net.Conn, error) {
		return d.Dial(ctx, id)
	})
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for checks: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, refusedCheck(response.StatusCode, strings.TrimSpace(string(why)))
	}
	said, err := wire.DecodeStepChecks(response.Body)
	if err != nil {
		return nil, err
	}
	all := make([]controlplane.StepCheck, len(said.Steps))
	for i, s := range said.Steps {
		all[i] = controlplane.StepCheck{Step: s.Step, OK: s.OK, Code: s.Code, Message: s.Message,
			Took: time.Duration(s.Millis) * time.Millisecond, Log: s.Log}
	}
	return all, nil
}

// refusedCheck distinguishes what passes by itself, such as secrets that a restarted agent waits
// for, from a deployment that cannot be checked as it is.
func refusedCheck(status int, why string) error {
	if status >= http.StatusInternalServerError {
		return &controlplane.Error{Kind: controlplane.Unavailable, Code: "not_checked_now",
			Message: "the node cannot check this deployment now: " + why,
			Remedy:  "Try again in a moment.", RetryAfter: 2 * time.Second}
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_checked",
		Message: "the node does not check this deployment now: " + why,
		Remedy:  "Try again when it is ready and nobody else checks it."}
}
