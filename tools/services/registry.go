package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// registryConfig is a registry without authentication on loopback, which Docker
// allows to be plain HTTP. Deleting is on, so that tests may lose a tag.
const registryConfig = `version: 0.1
log:
  level: warn
storage:
  filesystem:
    rootdirectory: %s
  delete:
    enabled: true
http:
  addr: %s
`

// startRegistry runs Debian's docker-registry, the reference implementation.
func startRegistry(ctx context.Context, g *group) ([]string, error) {
	binary, err := exec.LookPath("docker-registry")
	if err != nil {
		return nil, errors.New("docker-registry is not installed: run make setup")
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	config := filepath.Join(g.dir, "registry.yml")
	text := fmt.Sprintf(registryConfig, filepath.Join(g.dir, "registry"), addr)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "serve", config)
	// Without this, the registry also tries to send traces to a collector.
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	c, err := g.start("registry", syscall.SIGTERM, cmd)
	if err != nil {
		return nil, err
	}
	ready := func(ctx context.Context) error { return pingRegistry(ctx, addr) }
	if err := c.wait(ctx, ready); err != nil {
		return nil, err
	}
	return []string{"NULLOPS_TEST_REGISTRY=" + addr}, nil
}

func pingRegistry(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v2/", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("registry answers %s", answer.Status)
	}
	return nil
}

// pushImages fills the registry with the images of this repository. tools/images
// builds each once per content, so this takes seconds from the second run on.
func pushImages(ctx context.Context, g *group, env []string) error {
	root, err := repoRoot()
	if err != nil {
		return err
	}
	var addr string
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "NULLOPS_TEST_REGISTRY="); ok {
			addr = value
		}
	}
	// Its own, longer bound: the first time it may build a root file system.
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	argv := []string{filepath.Join(root, "tools", "run"), "images", "push",
		"--to", addr, "--cache", filepath.Join(root, ".cache", "images")}
	code, err := g.runCommand(ctx, argv, append(os.Environ(), env...))
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("push images: tools/run images push ended with exit code %d", code)
	}
	return nil
}
