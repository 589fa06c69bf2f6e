package dummy

import (
	"context"
	"net"

	"github.com/nullops/nullops/agent"
)

// PrepareWithMail implements agent.MailCatcher.
func (r *Runtime) PrepareWithMail(ctx context.Context, deployment string) error {
	r.mu.Lock()
	if r.mails[deployment] == nil {
		r.mails[deployment] = make(chan net.Conn)
	}
	r.mu.Unlock()
	return r.Prepare(ctx, deployment)
}

// AcceptMail implements agent.MailCatcher.
func (r *Runtime) AcceptMail(ctx context.Context, deployment string) (net.Conn, error) {
	conns, err := r.mailPort(deployment)
	if err != nil {
		return nil, err
	}
	select {
	case conn := <-conns:
		return conn, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// DialMail connects to the mail port of a deployment, as its services would.
func (r *Runtime) DialMail(ctx context.Context, deployment string) (net.Conn, error) {
	conns, err := r.mailPort(deployment)
	if err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	select {
	case conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// mailPort is where connections to a deployment's mail port come from.
func (r *Runtime) mailPort(deployment string) (chan net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if conns := r.mails[deployment]; conns != nil {
		return conns, nil
	}
	for _, o := range r.objects {
		if o.Kind == agent.KindRelay && o.Deployment == deployment {
			return nil, agent.ErrNoMailPort
		}
	}
	return nil, agent.ErrNotFound
}
