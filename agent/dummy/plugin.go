package dummy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// CreatePlugin implements agent.Runtime.
func (r *Runtime) CreatePlugin(ctx context.Context, p agent.PluginSpec) error {
	return r.callWithKnobs(ctx, "create_plugin", string(p.Step), func() error {
		o := pluginObject(p)
		o.Running, o.Waiting = true, true
		r.putObject(o)
		return nil
	})
}

// CreateService implements agent.ServicePreparer.
func (r *Runtime) CreateService(ctx context.Context, s agent.ServiceSpec) error {
	return r.callWithKnobs(ctx, "create_service", string(s.Step), func() error {
		o := agent.Object{Kind: agent.KindService, Deployment: s.Deployment, Run: s.Run, Step: s.Step,
			Running: true, Waiting: true}
		r.mu.Lock()
		there := r.objects[nameOf(o)]
		r.mu.Unlock()
		if there != nil || r.findNetwork(s.Deployment) == nil {
			return errors.New("its container exists, or its network does not")
		}
		r.putObject(o)
		return nil
	})
}

func pluginObject(p agent.PluginSpec) agent.Object {
	return agent.Object{Kind: agent.KindPlugin, Deployment: p.Deployment, Run: p.Run,
		Step: p.Step, Spec: p.Action}
}

// RunPlugin implements agent.Runtime. The plugin knob gets a context that ends
// with the timeout, or with the call's; it must return soon then.
func (r *Runtime) RunPlugin(ctx context.Context, p agent.PluginSpec, stdin []byte,
	line func(string),
) (result agent.PluginResult, err error) {
	err = r.callWithKnobs(ctx, "run", string(p.Step), func() error {
		if p.Network && r.findNetwork(p.Deployment) == nil {
			return errors.New("the deployment's network does not exist")
		}
		o := r.putObject(pluginObject(p))
		r.mu.Lock()
		r.ledger = append(r.ledger, p.Action+" "+string(p.Step))
		o.Running, o.Waiting = true, false
		r.mu.Unlock()
		result = r.runScripted(ctx, p, stdin, line)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.objects, o.Name)
		return nil
	})
	return result, err
}

func (r *Runtime) runScripted(ctx context.Context, p agent.PluginSpec, stdin []byte,
	line func(string),
) agent.PluginResult {
	k := r.currentKnobs()
	if k.Plugin == nil {
		return agent.PluginResult{Stdout: []byte(`{"success":true}`)}
	}
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	result := k.Plugin(limited, p, stdin, line)
	switch {
	case ctx.Err() != nil:
		result.Canceled, result.ExitCode = true, 137
	case limited.Err() != nil:
		result.TimedOut, result.ExitCode = true, 137
	case int64(len(result.Stdout)) > p.StdoutLimit:
		result.Stdout, result.Overflow = result.Stdout[:p.StdoutLimit], true
	}
	return result
}

// Dial implements agent.Runtime.
func (r *Runtime) Dial(ctx context.Context, deployment string, service pipeline.StepKey,
	port int,
) (conn net.Conn, err error) {
	err = r.callWithKnobs(ctx, "dial", string(service), func() error {
		r.mu.Lock()
		o := r.objects[serviceName(deployment, service)]
		running := o != nil && o.Running
		r.mu.Unlock()
		if !running {
			return fmt.Errorf("service %s: connection refused", service)
		}
		near, far := net.Pipe()
		conn = near
		serve := r.currentKnobs().Serve
		if serve == nil {
			serve = echoConn
		}
		go serve(deployment, service, port, far)
		return nil
	})
	return conn, err
}

func echoConn(_ string, _ pipeline.StepKey, _ int, conn net.Conn) {
	_, _ = io.Copy(conn, conn)
	_ = conn.Close()
}
