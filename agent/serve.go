package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/idleconn"
	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/pipeline"
)

// dialTimeout bounds a tunnel's dial; the ingress waits longer.
const dialTimeout = 5 * time.Second

// newHandler is everything a proven control plane may ask, and the tunnels that the ingress may
// open. ctx ends the sessions.
func (a *Agent) newHandler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(wire.PathSession, func(w http.ResponseWriter, r *http.Request) {
		a.sessions.serveSession(ctx, w, r)
	})
	mux.HandleFunc(wire.PathRunLogs, func(w http.ResponseWriter, r *http.Request) {
		a.deployments.serveRunLogs(ctx, w, r)
	})
	mux.HandleFunc("GET "+wire.PathServiceLogs, a.deployments.serveServiceLogs)
	mux.HandleFunc("GET "+wire.PathDeployment, a.deployments.serveDeployment)
	mux.HandleFunc("POST "+wire.PathChecks, a.deployments.serveChecks)
	mux.HandleFunc("GET "+wire.PathVolumes, a.volumes.serveVolumes)
	mux.HandleFunc("GET "+wire.PathVolume, a.volumes.serveReadVolume)
	mux.HandleFunc("PUT "+wire.PathVolume, a.volumes.serveWriteVolume)
	mux.HandleFunc("GET "+wire.PathDiagnosis, a.config.Diagnosis.serveDiagnosis)
	mux.HandleFunc("PUT "+wire.PathLogLevel, a.config.Diagnosis.serveLevel)
	mux.HandleFunc("POST "+wire.PathGiveUp, a.deployments.serveGiveUp)
	a.mails.registerMails(mux)
	maintenance := a.maintenance.maintenanceHandler()
	mux.Handle(wire.PathInventory, maintenance)
	mux.Handle(wire.PathUpgrade, maintenance)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := wire.PeerFrom(r.Context())
		if ok && p.TunnelsOnly {
			a.deployments.serveIngress(w, r)
			return
		}
		if !ok || p.Build != a.config.Build {
			// The message families carry no compatibility (wire.Build).
			maintenance.ServeHTTP(w, r)
			return
		}
		// A CONNECT request has no path that a mux could look at.
		if r.Method == http.MethodConnect {
			if r.Header.Get(wire.HeaderInside) != "" {
				a.deployments.serveInside(w, r)
				return
			}
			a.deployments.serveConnection(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// deploymentServer answers what a control plane asks about one deployment, and connects it with
// the deployment's services.
type deploymentServer struct {
	*base
	// passer is nil unless the agent listens for an ingress on its machine.
	passer *socketPasser
}

// serveConnection connects with a service, in the way that was asked for.
func (ds *deploymentServer) serveConnection(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(wire.HeaderSockets) == "" {
		ds.serveTunnel(w, r)
		return
	}
	if ds.passer == nil {
		http.Error(w, "this agent passes no sockets", http.StatusBadRequest)
		return
	}
	ds.passer.serveSockets(w, r)
}

// serveTunnel connects to a port that a goal declares, and to nothing else.
func (ds *deploymentServer) serveTunnel(w http.ResponseWriter, r *http.Request) {
	target, err := wire.ParseTarget(r.Header.Get(wire.HeaderTarget))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	service, refusal := ds.dialTarget(r.Context(), target)
	if refusal != nil {
		if len(refusal.listens) > 0 {
			w.Header().Set(wire.HeaderListens, refusal.listens.String())
		}
		http.Error(w, refusal.reason, refusal.status)
		return
	}
	client, err := wire.AcceptTunnel(w)
	if err != nil {
		_ = service.Close()
		return
	}
	setKeepAlive(service)
	done := make(chan struct{})
	idleconn.CopyBothWays(client, idleconn.WrapConn(service), func() { close(done) })
	<-done
}

// serveServiceLogs streams masked lines, each "RFC3339Nano text".
func (ds *deploymentServer) serveServiceLogs(w http.ResponseWriter, r *http.Request) {
	key := pipeline.StepKey(r.PathValue("key"))
	v, ok := ds.viewOf(r.PathValue("id"))
	if !ok || v.goal == nil {
		http.Error(w, "no such deployment on this node", http.StatusNotFound)
		return
	}
	if step, ok := v.goal.Pipeline.Step(key); !ok || step.Container() == nil {
		http.Error(w, "the deployment has no such service", http.StatusNotFound)
		return
	}
	if v.bundle == nil {
		// Lines cannot be masked with secrets that are not here.
		w.Header().Set("Retry-After", "2")
		http.Error(w, "the agent waits for the deployment's secrets", http.StatusServiceUnavailable)
		return
	}
	options := logOptions(r)
	options.Mask = v.bundle.masker
	if v.goal.Want == wire.WantPresent && v.waitsForTurn(key) {
		http.Error(w, "the service has no container yet", http.StatusTooEarly)
		return
	}
	lines, err := ds.runtime.Logs(r.Context(), v.goal.Deployment, key, options)
	switch {
	case errors.Is(err, ErrNotFound) && v.goal.Want == wire.WantPresent:
		http.Error(w, "the service has no container yet", http.StatusTooEarly)
		return
	case errors.Is(err, ErrNotFound):
		http.Error(w, "the service has no container any more", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, "the container engine does not answer", http.StatusBadGateway)
		return
	}
	defer func() { _ = lines.Close() }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	copyLines(w, lines, v.bundle.masker)
}

func logOptions(r *http.Request) LogOptions {
	q := r.URL.Query()
	o := LogOptions{Follow: q.Get("follow") == "true" || q.Get("follow") == "1"}
	if n, err := strconv.Atoi(q.Get("tail")); err == nil && n > 0 {
		o.Tail = n
	}
	if t, err := time.Parse(time.RFC3339Nano, q.Get("since")); err == nil {
		o.Since = t
	}
	return o
}

// copyLines masks line by line; a line that is too long is passed on in
// pieces, and a secret across their border is found all the same.
func copyLines(w http.ResponseWriter, lines io.Reader, m *mask.Masker) {
	in := bufio.NewReaderSize(lines, lineCut)
	out := http.NewResponseController(w)
	stream := m.NewStream()
	_ = out.Flush()
	for {
		piece, err := in.ReadSlice('\n')
		shown := stream.Write(string(piece))
		switch {
		case err == nil:
			shown += stream.Flush()
		case !errors.Is(err, bufio.ErrBufferFull):
			shown += stream.FlushTruncated()
		}
		if _, failed := io.WriteString(w, shown); failed != nil {
			return
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			_ = out.Flush()
			return
		}
		// Flushing when nothing more waits keeps a flood cheap and a tail live.
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// serveRunLogs sends step logs up, one batch at a time: the next goes when the
// last was acknowledged, and what was not is sent again on the next connection.
func (ds *deploymentServer) serveRunLogs(
	ctx context.Context, w http.ResponseWriter, r *http.Request,
) {
	s, err := wire.ServeSession(w, r)
	if err != nil {
		ds.log.Warn("log connection refused", "error", err)
		return
	}
	defer func() { _ = s.Close(wire.CodeGone, "the agent ends the log connection") }()
	for seq := int64(1); ; seq++ {
		lines, err := ds.nextLines(ctx, s)
		if err == nil {
			err = s.Send(ctx, wire.LogBatch{Seq: seq, Lines: lines})
		}
		if err == nil {
			err = awaitAck(ctx, s, seq)
		}
		if err != nil {
			ds.log.Debug("log connection ended", "error", err)
			return
		}
		ds.logs.removeAcknowledged(lines)
	}
}

func (ds *deploymentServer) nextLines(
	ctx context.Context, s *wire.AgentSession,
) ([]wire.LogLine, error) {
	for {
		more := ds.logs.more.nextSignal()
		if lines := ds.logs.nextBatch(); len(lines) > 0 {
			return lines, nil
		}
		select {
		case <-more:
		case <-s.Done():
			return nil, s.Err()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func awaitAck(ctx context.Context, s *wire.AgentSession, seq int64) error {
	for {
		c, err := s.Receive(ctx)
		if err != nil {
			return err
		}
		if ack, ok := c.(wire.Ack); ok && ack.Seq >= seq {
			return nil
		}
	}
}
