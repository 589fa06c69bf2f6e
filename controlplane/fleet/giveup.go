package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// maxGivenUp bounds what is believed of one agent.
const maxGivenUp = 4 << 10

// GiveUpMachine tells a node's agent that a machine of its cluster is gone, and returns how many
// services with volumes start elsewhere for it.
func (d *Dialer) GiveUpMachine(
	ctx context.Context, id controlplane.NodeID, machine string,
) (services int, err error) {
	path := strings.Replace(wire.PathGiveUp, "{machine}", url.PathEscape(machine), 1)
	answer, err := d.ask(ctx, id, http.MethodPost, path, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	var said wire.GivenUp
	err = json.NewDecoder(io.LimitReader(answer.Body, maxGivenUp)).Decode(&said)
	if err != nil {
		return 0, fmt.Errorf("read how many services were released: %w", err)
	}
	return said.Services, nil
}
