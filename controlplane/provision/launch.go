package provision

import (
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"net"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// unit is the agent's name where systemd runs. A machine has one agent there.
const unit = "nullops-agent.service"

// agentSettings is the agent's configuration file. JSON is YAML, and its quoting
// is not to be argued with.
func agentSettings(
	address string, p controlplane.ProvisionPlan, token controlplane.Plain,
) ([]byte, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("node address %s: %w", address, err)
	}
	agent := map[string]string{"token": token.Reveal(), "listen": ":" + port, "data": p.Data,
		"run": p.Run, "docker": p.Docker}
	if p.Subnets != "" {
		agent["subnets"] = p.Subnets
	}
	text, err := json.Marshal(map[string]any{"agent": agent,
		"log": map[string]string{"format": "json"}})
	if err != nil {
		return nil, fmt.Errorf("write the agent's settings: %w", err)
	}
	return append(text, '\n'), nil
}

// unitFile needs no quoting, because paths come from a small alphabet. The unit is
// active once the agent reports that it listens; systemd restarts it without limit.
func unitFile(program, settings string) string {
	return `[Unit]
Description=NullOps agent
After=network-online.target docker.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
TimeoutStartSec=5min
ExecStart=` + program + ` agent --config=` + settings + `
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
`
}

// startAgent starts the agent, or restarts it with the new token.
func (j *job) start(ctx context.Context) error {
	if j.systemd {
		return j.startUnit(ctx)
	}
	return j.startContainer(ctx)
}

func (j *job) startUnit(ctx context.Context) error {
	text := unitFile(j.program(), j.settings())
	if err := j.put(ctx, unit, strings.NewReader(text)); err != nil {
		return err
	}
	if err := j.install(ctx, unit, path.Join("/etc/systemd/system", unit), "0644"); err != nil {
		return err
	}
	for _, words := range [][]string{{"daemon-reload"}, {"enable", unit}} {
		if _, err := j.machine.root(ctx, append([]string{"systemctl"}, words...)...); err != nil {
			return err
		}
	}
	_, err := j.machine.root(ctx, "systemctl", "restart", unit)
	if exitCode(err) != 0 {
		return j.ended(ctx)
	}
	return err
}

// container is the agent's name where systemd does not run.
func (j *job) container() string { return "nullops-agent-" + j.node.Name }

// ours marks containers that may be replaced.
const ours = "nullops.provisioned"

var notInTag = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func (j *job) engine(ctx context.Context, words ...string) (string, error) {
	return j.machine.root(ctx, append([]string{"docker", "-H", j.where.Plan.Docker}, words...)...)
}

// startContainer makes an image of nothing but the program, and a container that
// the engine restarts whatever happens. It shares the machine's network, since the
// agent listens there, and sees its folders under the same names.
func (j *job) startContainer(ctx context.Context) error {
	if err := static(j.Program); err != nil {
		return err
	}
	if err := j.replace(ctx); err != nil {
		return err
	}
	archive := path.Join(j.stage, "agent.tar")
	_, err := j.machine.root(ctx, "tar", "-C", j.where.Plan.Directory, "-cf", archive, "nullops")
	if err != nil {
		return j.disk(err)
	}
	image := "nullops/agent:" + notInTag.ReplaceAllString(j.Build, "-")
	if _, err := j.engine(ctx, "import", archive, image); err != nil {
		return err
	}
	p := j.where.Plan
	socket := strings.TrimPrefix(p.Docker, "unix://")
	_, err = j.engine(ctx, "run", "-d", "--name", j.container(), "--restart", "always",
		"--network", "host", "--label", ours+"="+j.node.Name,
		"--log-driver", "local", "--log-opt", "max-size=5m", "--log-opt", "max-file=2",
		"--tmpfs", "/tmp", "-v", socket+":"+socket, "-v", p.Data+":"+p.Data, "-v", p.Run+":"+p.Run,
		"-v", j.settings()+":"+j.settings()+":ro", image,
		"/nullops", "agent", "--config="+j.settings())
	return err
}

// static refuses a program that starts nowhere but where it was built.
func static(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("look at the program: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fault("program_dynamic", "the control plane's program is not static, so it cannot "+
				"be a container's only file", "Build it with CGO_ENABLED=0.", nil)
		}
	}
	return nil
}

// removeOldContainer removes the container of an earlier attempt. It fails for a
// container of that name that is not ours.
func (j *job) replace(ctx context.Context) error {
	out, err := j.engine(ctx, "ps", "-a", "--filter", "name=^"+j.container()+"$", "--format",
		`{{.Label "`+ours+`"}}`+"|")
	if err != nil {
		return err
	}
	switch lastLine(out) {
	case "":
		return nil
	case j.node.Name + "|":
		_, err := j.engine(ctx, "rm", "-f", j.container())
		return err
	default:
		return fault("name_taken", "a container "+j.container()+" is there that was not made here",
			"Remove it, or run the agent there by hand.", nil)
	}
}

// awaitStable checks several times that the agent is running, because one that crashes
// is restarted again and again.
func (j *job) active(ctx context.Context) error {
	const looks = 3
	for look := 1; ; look++ {
		up, err := j.up(ctx)
		if err != nil {
			return err
		}
		if !up {
			return j.ended(ctx)
		}
		if look == looks {
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// agentFailedError shows the agent's last output and returns the error.
func (j *job) ended(ctx context.Context) error {
	j.lastWords(ctx)
	return fault("agent_failed", "the agent does not stay up",
		"Look at its last lines, and begin a new attempt.", nil)
}

func (j *job) up(ctx context.Context) (bool, error) {
	if j.systemd {
		out, err := j.machine.root(ctx, "systemctl", "is-active", unit)
		if exitCode(err) != 0 {
			err = nil
		}
		return lastLine(out) == "active", err
	}
	out, err := j.engine(ctx, "inspect", "--format", "{{.State.Status}} {{.RestartCount}}",
		j.container())
	return lastLine(out) == "running 0", err
}

// lastWords shows the agent's last lines of output.
func (j *job) lastWords(ctx context.Context) {
	// It is only to help; that it cannot be read is no error of its own.
	if j.systemd {
		_, _ = j.machine.root(ctx, "journalctl", "-u", unit, "-n", "40", "--no-pager")
		return
	}
	_, _ = j.engine(ctx, "logs", "--tail", "40", j.container())
}

// linkWithin is how long the agent has to be met. The fleet dials with pauses of
// up to half a minute.
const linkWithin = 2 * time.Minute

// awaitLink waits until the control plane has a session with the node, with the
// certificate that the agent printed.
func (j *job) link(ctx context.Context) error {
	wake := j.Listener.Subscribe(string(j.node.ID), controlplane.TopicNode)
	defer wake.Close()
	late := time.NewTimer(linkWithin)
	defer late.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		n, err := j.Catalog.NodeByID(ctx, actor(), j.node.ID)
		if err != nil {
			return err
		}
		switch {
		case n.Status == controlplane.NodeOnline && n.Thumbprint == j.print:
			j.say("the link stands")
			return nil
		case n.Status == controlplane.NodeUntrusted, n.Status == controlplane.NodeIncompatible,
			n.Status == controlplane.NodeDisabled:
			return fault("link_refused", "the node is "+string(n.Status)+": "+n.Detail,
				"Look at the node; then begin a new attempt.", nil)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			j.lastWords(ctx)
			return fault("link_down", "the agent runs, but cannot be reached at "+n.Address+": "+
				n.Detail, "Open that port to the control plane, and begin a new attempt.", nil)
		case <-wake.Wake:
		case <-tick.C:
		}
	}
}
