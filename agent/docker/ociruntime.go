package docker

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/wire"
)

const (
	runc = "runc"
	// crun does the same work as runc with less of the processor: docs/engines.md has figures.
	crun = "crun"
	// newSpecEngine is the first major version that writes containers down in a version of the OCI
	// specification that crun 1.8.1 and older refuse.
	newSpecEngine = 29
	// crunGain is what docs/engines.md found.
	crunGain = "the runtime needs about half the time to create, start and delete a container"
)

// usedRuntime returns the OCI runtime that the containers of deployments get.
func usedRuntime(configured string, i system.Info) string {
	switch {
	case configured != "":
		return configured
	case i.DefaultRuntime == "":
		return runc
	}
	return i.DefaultRuntime
}

// missingRuntime returns what to do about a configured runtime that the engine does not know, or
// nil.
func missingRuntime(configured string, i system.Info) error {
	if _, known := i.Runtimes[configured]; known || configured == "" {
		return nil
	}
	return fmt.Errorf("setting agent.oci: the engine knows no OCI runtime called %q, only %s; "+
		`name it under "runtimes" in /etc/docker/daemon.json and run 'systemctl reload docker'`,
		configured, strings.Join(slices.Sorted(maps.Keys(i.Runtimes)), ", "))
}

// explainCreateErr replaces the engine's words about a runtime that it does not know, which differ
// from version to version.
func (cs *containers) explainCreateErr(ctx context.Context, err error) error {
	if cs.config.Runtime == "" {
		return err
	}
	r, infoErr := cs.api.Info(ctx, client.InfoOptions{})
	if infoErr != nil {
		return err
	}
	if missing := missingRuntime(cs.config.Runtime, r.Info); missing != nil {
		return missing
	}
	return err
}

// crunPath returns where crun is on this machine, as far as that can be seen.
func (iv *inventory) crunPath() string {
	if iv.hostPaths().ownProcesses {
		return ""
	}
	path, _ := exec.LookPath(crun)
	return path
}

// runtimeCheck says how the containers of this node are run, and what would be faster.
func runtimeCheck(f hostFacts) wire.Check {
	if err := missingRuntime(f.runtime, f.info); err != nil {
		detail, remedy, _ := strings.Cut(err.Error(), "; ")
		return failedCheck(checkRuntime, wire.SeverityCritical, "No container can be created: "+
			detail+".", strings.ToUpper(remedy[:1])+remedy[1:]+". Or clear the setting.")
	}
	used := usedRuntime(f.runtime, f.info)
	detail := "Containers are run by " + used + "."
	if used != runc {
		return okCheck(checkRuntime, detail)
	}
	detail += " With crun, " + crunGain + ": "
	register := `name it under "runtimes" in /etc/docker/daemon.json, ` +
		"run 'systemctl reload docker', and set agent.oci to crun."
	_, known := f.info.Runtimes[crun]
	switch {
	case known:
		return okCheck(checkRuntime, detail+"the engine knows it; set agent.oci to crun.")
	case f.crunPath != "":
		detail += "it is installed as " + f.crunPath + "; " + register
	default:
		detail += "install the package crun, " + register
	}
	if majorVersion(f.info.ServerVersion) >= newSpecEngine {
		detail += " This engine needs a crun newer than 1.8.1."
	}
	return okCheck(checkRuntime, detail)
}
