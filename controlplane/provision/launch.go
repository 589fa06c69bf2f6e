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
	"github.com/nullops/nullops/internal/wait"
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
func (j *provisionJob) startAgent(ctx context.Context) error {
	if j.systemd {
		return j.startUnit(ctx)
	}
	return j.startContainer(ctx)
}

func (j *provisionJob) startUnit(ctx context.Context) error {
	text := unitFile(j.programPath(), j.settingsPath())
	if err := j.uploadFile(ctx, unit, strings.NewReader(text)); err != nil {
		return err
	}
	if err := j.installFile(ctx, unit, path.Join("/etc/systemd/system", unit), "0644"); err != nil {
		return err
	}
	for _, words := range [][]string{{"daemon-reload"}, {"enable", unit}} {
		if _, err := j.machine.runAsRoot(ctx, append([]string{"systemctl"}, words...)...); err != nil {
			return err
		}
	}
	_, err := j.machine.runAsRoot(ctx, "systemctl", "restart", unit)
	if exitCode(err) != 0 {
		return j.agentFailedError(ctx)
	}
	return err
}

// containerName is the agent's name where systemd does not run.
func (j *provisionJob) containerName() string { return "nullops-agent-" + j.node.Name }

// ours marks containers that may be replaced.
const ours = "nullops.provisioned"

var notInTag = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func (j *provisionJob) runDocker(ctx context.Context, words ...string) (string, error) {
	return j.machine.runAsRoot(ctx, append([]string{"docker", "-H", j.where.Plan.Docker}, words...)...)
}

// startContainer makes an image of nothing but the program, and a container that
// the engine restarts whatever happens. It shares the machine's network, since the
// agent listens there, and sees its folders under the same names.
func (j *provisionJob) startContainer(ctx context.Context) error {
	if err := checkStatic(j.Program); err != nil {
		return err
	}
	if err := j.removeOldContainer(ctx); err != nil {
		return err
	}
	archive := path.Join(j.stage, "agent.tar")
	_, err := j.machine.runAsRoot(ctx, "tar", "-C", j.where.Plan.Directory, "-cf", archive, "nullops")
	if err != nil {
		return j.explainDiskError(err)
	}
	image := "nullops/agent:" + notInTag.ReplaceAllString(j.Build, "-")
	if _, err := j.runDocker(ctx, "import", archive, image); err != nil {
		return err
	}
	p := j.where.Plan
	socket := strings.TrimPrefix(p.Docker, "unix://")
	_, err = j.runDocker(ctx, "run", "-d", "--name", j.containerName(), "--restart", "always",
		"--network", "host", "--label", ours+"="+j.node.Name,
		"--log-driver", "local", "--log-opt", "max-size=5m", "--log-opt", "max-file=2",
		"--tmpfs", "/tmp", "-v", socket+":"+socket, "-v", p.Data+":"+p.Data, "-v", p.Run+":"+p.Run,
		"-v", j.settingsPath()+":"+j.settingsPath()+":ro", image,
		"/nullops", "agent", "--config="+j.settingsPath())
	return err
}

// checkStatic refuses a program that starts nowhere but where it was built.
func checkStatic(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("look at the program: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return newFault("program_dynamic", "the control plane's program is not static, so it cannot "+
				"be a container's only file", "Build it with CGO_ENABLED=0.", nil)
		}
	}
	return nil
}

// removeOldContainer removes the container of an earlier attempt. It fails for a
// container of that name that is not ours.
func (j *provisionJob) removeOldContainer(ctx context.Context) error {
	out, err := j.runDocker(ctx, "ps", "-a", "--filter", "name=^"+j.containerName()+"$", "--format",
		`{{.Label "`+ours+`"}}`+"|")
	if err != nil {
		return err
	}
	switch lastLine(out) {
	case "":
		return nil
	case j.node.Name + "|":
		_, err := j.runDocker(ctx, "rm", "-f", j.containerName())
		return err
	default:
		return newFault("name_taken", "a container "+j.containerName()+" is there that was not made here",
			"Remove it, or run the agent there by hand.", nil)
	}
}

// awaitStable checks several times that the agent is running, because one that crashes
// is restarted again and again.
func (j *provisionJob) awaitStable(ctx context.Context) error {
	const looks = 3
	for look := 1; ; look++ {
		up, err := j.isUp(ctx)
		if err != nil {
			return err
		}
		if !up {
			return j.agentFailedError(ctx)
		}
		if look == looks {
			return nil
		}
		if err := wait.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// agentFailedError shows the agent's last output and returns the error.
func (j *provisionJob) agentFailedError(ctx context.Context) error {
	j.lastWords(ctx)
	return newFault("agent_failed", "the agent does not stay up",
		"Look at its last lines, and begin a new attempt.", nil)
}

func (j *provisionJob) isUp(ctx context.Context) (bool, error) {
	if j.systemd {
		out, err := j.machine.runAsRoot(ctx, "systemctl", "is-active", unit)
		if exitCode(err) != 0 {
			err = nil
		}
		return lastLine(out) == "active", err
	}
	out, err := j.runDocker(ctx, "inspect", "--format", "{{.State.Status}} {{.RestartCount}}",
		j.containerName())
	return lastLine(out) == "running 0", err
}

// lastWords shows the agent's last lines of output.
func (j *provisionJob) lastWords(ctx context.Context) {
	// It is only to help; that it cannot be read is no error of its own.
	if j.systemd {
		_, _ = j.machine.runAsRoot(ctx, "journalctl", "-u", unit, "-n", "40", "--no-pager")
		return
	}
	_, _ = j.runDocker(ctx, "logs", "--tail", "40", j.containerName())
}

// linkWithin is how long to wait until the control plane is connected to the agent. The fleet dials
// with pauses of up to half a minute.
const linkWithin = 2 * time.Minute

// awaitLink waits until the control plane has a session with the node, with the
// certificate that the agent printed.
func (j *provisionJob) awaitLink(ctx context.Context) error {
	wake := j.Listener.Subscribe(string(j.node.ID), controlplane.TopicNode)
	defer wake.Close()
	late := time.NewTimer(linkWithin)
	defer late.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		n, err := j.Nodes.NodeByID(ctx, systemActor(), j.node.ID)
		if err != nil {
			return err
		}
		switch {
		case n.Status == controlplane.NodeOnline && n.Thumbprint == j.print:
			j.printLine("the link stands")
			return nil
		case n.Status == controlplane.NodeUntrusted, n.Status == controlplane.NodeIncompatible,
			n.Status == controlplane.NodeDisabled:
			return newFault("link_refused", "the node is "+string(n.Status)+": "+n.Detail,
				"Look at the node; then begin a new attempt.", nil)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			j.lastWords(ctx)
			return newFault("link_down", "the agent runs, but cannot be reached at "+n.Address+": "+
				n.Detail, "Open that port to the control plane, and begin a new attempt.", nil)
		case <-wake.Wake:
		case <-tick.C:
		}
	}
}
