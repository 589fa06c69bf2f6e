package provision

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// signInToMachine signs in to the machine.
func (j *provisionJob) signInToMachine(ctx context.Context) error {
	client, err := signIn(ctx, j.Connect, j.where, j.credential)
	if err != nil {
		return err
	}
	j.machine = &sshMachine{client: client, say: j.printLine, masker: j.currentMasker}
	go j.machine.watchConnection(ctx, j.give)
	j.printLine("the host shows the confirmed key " + j.where.HostKey)
	j.printLine("signed in as " + j.where.User + " to " + string(client.ServerVersion()))
	return nil
}

// goArch are kernels' names of what Go calls otherwise.
func goArch(kernel string) string {
	switch kernel {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	default:
		return kernel
	}
}

// inspectMachine determines what the machine is and what the user may do there.
func (j *provisionJob) inspectMachine(ctx context.Context) error {
	out, err := j.machine.runAsUser(ctx, "uname", "-sm")
	if err != nil {
		return err
	}
	kind := lastLine(out)
	system, processor, _ := strings.Cut(kind, " ")
	if system != "Linux" || goArch(processor) != runtime.GOARCH {
		return newFault("unsupported_machine", fmt.Sprintf(
			"the machine is %s, the control plane's program is for Linux on %s",
			kind, runtime.GOARCH),
			"Use a machine of the same kind, or run the agent's image there by hand.", nil)
	}
	if err := j.becomeRoot(ctx); err != nil {
		return err
	}
	_, err = j.machine.runAsUser(ctx, "test", "-d", "/run/systemd/system")
	if err != nil && exitCode(err) == 0 {
		return err
	}
	j.systemd = err == nil
	if j.systemd {
		j.printLine("systemd runs: the agent becomes a unit")
	} else {
		j.printLine("systemd does not run: the agent becomes a container")
	}
	return nil
}

// becomeRoot finds the way to be root: being it, or sudo with or without the
// password.
func (j *provisionJob) becomeRoot(ctx context.Context) error {
	out, err := j.machine.runAsUser(ctx, "id", "-u")
	if err != nil {
		return err
	}
	if lastLine(out) == "0" {
		return nil
	}
	j.machine.sudo = []string{"sudo", "-n", "--"}
	if _, err = j.machine.runAsRoot(ctx, "true"); err == nil {
		return nil
	}
	if exitCode(err) == 0 {
		return err
	}
	if password := j.credential.Password; !password.IsEmpty() {
		j.machine.sudo = []string{"sudo", "-S", "-p", "", "--"}
		j.machine.password = password
		if _, err = j.machine.runAsRoot(ctx, "true"); err == nil {
			return nil
		}
	}
	return newFault("not_root", "user "+j.where.User+" is not root and may not use sudo",
		"Sign in as root, or let the user run sudo, without a password or with this one.", err)
}

// ensureDocker makes sure that a container engine answers.
func (j *provisionJob) ensureDocker(ctx context.Context) error {
	err := j.askDocker(ctx)
	if exitCode(err) != notFound {
		return j.dockerDown(err)
	}
	if !j.where.Plan.InstallDocker {
		return newFault("docker_missing", "Docker is not installed on the machine",
			"Install it there, or allow installing it and begin a new attempt.", err)
	}
	j.printLine("Docker is missing: installing Debian's docker.io")
	if err := j.installDocker(ctx); err != nil {
		return err
	}
	// The engine takes a moment to start.
	for range 30 {
		if err = j.askDocker(ctx); err == nil || exitCode(err) == 0 {
			return err
		}
		if err := wait.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return j.dockerDown(err)
}

func (j *provisionJob) dockerDown(err error) error {
	if exitCode(err) == 0 {
		return err
	}
	return newFault("docker_down", "Docker does not answer at "+j.where.Plan.Docker+": "+err.Error(),
		"Start it, or correct its socket, and begin a new attempt.", err)
}

func (j *provisionJob) askDocker(ctx context.Context) error {
	out, err := j.machine.runAsRoot(ctx, "docker", "-H", j.where.Plan.Docker, "version",
		"--format", "{{.Server.Version}}")
	if err == nil {
		j.printLine("Docker " + lastLine(out) + " answers")
		return nil
	}
	// sudo has a code of its own for what it cannot find.
	if f, bad := errors.AsType[*programFailure](err); bad && f.code == 1 && len(j.machine.sudo) > 0 &&
		strings.Contains(f.output, "command not found") {
		f.code = notFound
	}
	return err
}

func (j *provisionJob) installDocker(ctx context.Context) error {
	_, err := j.machine.runAsRoot(ctx, "apt-get", "--version")
	if exitCode(err) == notFound || exitCode(err) == 1 {
		return newFault("docker_missing", "Docker is not installed, and the machine has no apt-get",
			"Install Docker there by hand, and begin a new attempt.", err)
	}
	if err != nil {
		return err
	}
	for _, words := range [][]string{
		{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "update", "-q"},
		{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "docker.io"},
	} {
		if _, err := j.machine.runAsRoot(ctx, words...); err != nil {
			return err
		}
	}
	if j.systemd {
		_, err = j.machine.runAsRoot(ctx, "systemctl", "enable", "--now", "docker")
	}
	return err
}
