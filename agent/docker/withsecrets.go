package docker

import (
	"context"
	"fmt"
	"slices"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/moby/api/types/container"
)

const (
	// secretsPath is the file with the secret variables, as the container sees it.
	secretsPath = secretsTarget + "/" + secretsFile
	// checkOutputTarget is a folder in the container's own memory. It takes the output
	// of the image's health check, which the engine would write to its disk.
	checkOutputTarget  = "/.nullops/check"
	checkOutputOptions = "size=256k,mode=1777,noexec,nosuid,nodev"
)

// initCommand comes before a command that needs the service's secret variables.
func initCommand() []string { return []string{initTarget, "init", secretsPath, "--"} }

// readsSecrets reports whether a service's container was made with secret variables. A probe does
// not always have their values.
func readsSecrets(c *container.Config) bool {
	return c != nil && slices.Equal(c.Entrypoint, initCommand())
}

// checkWithSecrets has the image's health check see the secret variables too. The
// times stay as they are: the engine takes those that are zero from the image.
func checkWithSecrets(
	check *container.HealthConfig, image dockerspec.DockerOCIImageConfig,
) *container.HealthConfig {
	if check != nil && len(check.Test) > 0 || image.Healthcheck == nil {
		return check
	}
	command := checkCommand(image)
	if len(command) == 0 {
		return check
	}
	with := container.HealthConfig{}
	if check != nil {
		with = *check
	}
	with.Test = append([]string{"CMD", initTarget, "check", secretsPath, checkOutputTarget, "--"},
		command...)
	return &with
}

// checkCommand is what the engine runs for an image's health check. It is empty
// when the image has none, or switched it off.
func checkCommand(image dockerspec.DockerOCIImageConfig) []string {
	test := image.Healthcheck.Test
	if len(test) < 2 {
		return nil
	}
	switch test[0] {
	case "CMD":
		return test[1:]
	case "CMD-SHELL":
		shell := image.Shell
		if len(shell) == 0 {
			shell = []string{"/bin/sh", "-c"}
		}
		return append(slices.Clone(shell), test[1])
	}
	return nil
}

// checksWithSecrets reports whether the health check's output is kept from the
// engine.
func checksWithSecrets(c *container.Config) bool {
	return c != nil && c.Healthcheck != nil && len(c.Healthcheck.Test) > 2 &&
		slices.Equal(c.Healthcheck.Test[:3], []string{"CMD", initTarget, "check"})
}

// readCheckOutput returns how the last health check of an image ended. What it
// printed is read from the container's memory; the agent masks it.
func (pr *probes) readCheckOutput(ctx context.Context, c container.InspectResponse) string {
	n := len(c.State.Health.Log)
	if n == 0 {
		return ""
	}
	last := c.State.Health.Log[n-1]
	if last.Output != "" {
		// The helper's or the engine's own words: it was not run, or took too long.
		return last.Output
	}
	text := fmt.Sprintf("the image's health check exited with code %d", last.ExitCode)
	read := []string{initTarget, "check-output", checkOutputTarget}
	output, code, err := pr.runInService(ctx, c.ID, read)
	if err != nil || code != 0 || output == "" {
		return text
	}
	return text + ": " + output
}
