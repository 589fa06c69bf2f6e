package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const defaultSocket = "/var/run/docker.sock"

// startDocker uses the daemon that already answers, or starts a private one. Who asks for a
// particular engine gets a private one.
func (e engine) startDocker(ctx context.Context, g *group) ([]string, error) {
	candidates := []string{"unix://" + defaultSocket}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		candidates = []string{host, candidates[0]}
	}
	for _, host := range candidates {
		if e != (engine{}) {
			break
		}
		if socket, ok := strings.CutPrefix(host, "unix://"); ok && pingDocker(ctx, socket) == nil {
			// Its own starter may have said so of the engine, and this run does not stop it.
			return append(dockerEnv(host), "NULLOPS_TEST_DOCKER_PRIVATE="), nil
		}
	}
	socket := filepath.Join(g.dir, "docker.sock")
	if err := startDockerd(ctx, g, socket); err != nil {
		return nil, err
	}
	// The demo says what is left on an engine, which is nothing on this one.
	return append(dockerEnv("unix://"+socket), "NULLOPS_TEST_DOCKER_PRIVATE=1"), nil
}

// dockerEnv also sets DOCKER_HOST, for what runs the docker command line.
func dockerEnv(host string) []string {
	return []string{"NULLOPS_TEST_DOCKER=" + host, "DOCKER_HOST=" + host}
}

// pingDocker asks the daemon for its version, as the docker command does.
func pingDocker(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/version", nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("docker answers %s", answer.Status)
	}
	return nil
}

func startDockerd(ctx context.Context, g *group, socket string) error {
	binary, err := exec.LookPath("dockerd")
	if err != nil {
		return errors.New("dockerd is not installed: run make setup")
	}
	argv := append([]string{binary}, dockerdFlags(g.dir, socket)...)
	root := os.Geteuid() == 0
	if !root {
		if _, err := runCommand(ctx, nil, "sudo", "-n", "true"); err != nil {
			return errors.New("no Docker daemon answers and starting one needs root: start the " +
				"docker service and join the docker group, or allow sudo without a password")
		}
		argv = append([]string{"sudo", "-n", "env", "PATH=" + os.Getenv("PATH")}, argv...)
		argv = append(argv, "--group", strconv.Itoa(os.Getegid()))
	}
	network := snapshotNetwork(ctx)
	if err := network.save(g.dir); err != nil {
		return err
	}
	g.after = append(g.after, func() error { return releaseDocker(g.dir, network) })
	c, err := g.start("dockerd", syscall.SIGTERM, exec.Command(argv[0], argv[1:]...))
	if err != nil {
		return err
	}
	if !root {
		// sudo runs as root, so only another sudo may signal the daemon.
		c.kill = func(s syscall.Signal) error { return sudoKill(g.dir, s) }
	}
	return c.wait(ctx, func(ctx context.Context) error { return pingDocker(ctx, socket) })
}

// dockerdFlags keeps all state of the daemon inside dir. A second daemon cannot
// have docker0 too: then it gets no default network, which our product never uses.
func dockerdFlags(dir, socket string) []string {
	flags := []string{
		"--host", "unix://" + socket,
		"--data-root", filepath.Join(dir, "docker"),
		"--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "dockerd.pid"),
		"--shutdown-timeout", "5",
		"--log-level", "warn",
	}
	if config := os.Getenv(configVariable); config != "" {
		flags = append(flags, "--config-file", config)
	}
	if _, err := net.InterfaceByName("docker0"); err == nil {
		flags = append(flags, "--bridge", "none")
	}
	return flags
}

func sudoKill(dir string, s syscall.Signal) error {
	pid, err := os.ReadFile(filepath.Join(dir, "dockerd.pid"))
	if err != nil {
		return err
	}
	_, err = runCommand(context.Background(), nil, "sudo", "-n", "kill",
		"-"+strconv.Itoa(int(s)), strings.TrimSpace(string(pid)))
	return err
}

// releaseDocker removes what a stopped daemon leaves: processes of containers
// that outlived it, mounts, and its part of the network set-up.
func releaseDocker(dir string, before networkState) error {
	return errors.Join(killUsers(dir), unmountBelow(dir), before.restore(context.Background(), dir))
}
