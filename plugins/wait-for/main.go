// Command wait-for is a plugin that waits until a TCP port accepts a
// connection. It sends nothing and changes nothing.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: waitForPort, Delete: stdio.NothingToUndo})
}

type parameters struct {
	Host            string  `json:"host"`
	Port            int     `json:"port"`
	Retries         int     `json:"retries"`
	IntervalSeconds float64 `json:"interval_seconds"`
	TimeoutSeconds  float64 `json:"timeout_seconds"`
}

func waitForPort(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	// The defaults are those component.json shows.
	p := parameters{Retries: 60, IntervalSeconds: 0.5, TimeoutSeconds: 2}
	if err := req.Bind(&p); err != nil {
		return stdio.Response{}, err
	}
	if p.Host == "" || p.Port < 1 || p.Port > 65535 {
		return stdio.Response{}, fmt.Errorf(
			"parameters \"host\" and \"port\" (1 to 65535) are required")
	}
	address := net.JoinHostPort(p.Host, strconv.Itoa(p.Port))
	dialer := net.Dialer{Timeout: wait.Seconds(p.TimeoutSeconds)}
	var last error
	for try := 1; try <= p.Retries+1; try++ {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close() // nothing was sent that could be lost
			log.Info("accepts connections", "address", address, "try", try)
			return stdio.Response{
				Success: true,
				Output:  address + " accepts connections",
				Outputs: map[string]any{"address": address, "tries": try},
			}, nil
		}
		last = err
		log.Warn("not yet", "try", try, "of", p.Retries+1, "reason", err)
		if wait.Sleep(ctx, wait.Seconds(p.IntervalSeconds)) != nil {
			return stdio.Response{}, fmt.Errorf("%w; last: %w", ctx.Err(), last)
		}
	}
	return stdio.Response{}, fmt.Errorf("%s does not accept connections: %w (tried %d times)",
		address, last, p.Retries+1)
}
