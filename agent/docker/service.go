package docker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

const (
	// Limits of a service or plugin that sets none.
	defaultCPU       = 1.0
	defaultMemoryMiB = 512
	// servicePids is room for a database with hundreds of connections.
	servicePids = 1024
	// initTarget and secretsTarget are where a service finds the init.
	initTarget    = "/.nullops/init"
	secretsTarget = "/.nullops/run"
	secretsFile   = "env.json"
)

// serviceCapabilities are what ordinary images need to prepare their folders
// as root and then drop to a user of their own, or to bind a low port. Of
// Docker's default set, NET_RAW (spoofing on the network), MKNOD, AUDIT_WRITE,
// SETFCAP, SETPCAP and SYS_CHROOT are missing.
func serviceCapabilities() []string {
	return []string{
		"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE",
		"SETGID", "SETUID",
	}
}

// serviceLogs caps what a service can put on the node's disk: two files of
// 5 MB each. The engine's default driver has no cap at all.
func serviceLogs() container.LogConfig {
	return container.LogConfig{
		Type: "local", Config: map[string]string{"max-size": "5m", "max-file": "2"},
	}
}

// services starts and stops the containers of services and jobs, and runs commands in them.
type services struct {
	*containers
	images  *images
	volumes *volumes
	files   *serviceFiles
	helper  *helperImage
	// sandboxes are those that wait for their turn.
	sandboxes *sandboxes
}

// StartService creates and starts the container of a service.
func (sv *services) StartService(ctx context.Context, s agent.ServiceSpec) error {
	if err := sv.startService(ctx, s); err != nil {
		return fmt.Errorf("service %s of deployment %s: %w", s.Step, s.Deployment, err)
	}
	return nil
}

func (sv *services) startService(ctx context.Context, s agent.ServiceSpec) error {
	if err := checkService(s); err != nil {
		return err
	}
	if begun, err := sv.beginPrepared(ctx, s); begun || err != nil {
		return err
	}
	if ran, err := sv.hasRun(ctx, s); ran || err != nil {
		return err
	}
	image, err := sv.images.imageConfig(ctx, s.Image)
	if err != nil {
		return err
	}
	volumes, err := sv.volumes.ensureVolumes(ctx, s)
	if err != nil {
		return err
	}
	changed, err := sv.files.writeRunFiles(ctx, s, cmp.Or(s.User, image.User))
	if err != nil {
		return err
	}
	spec, err := sv.serviceContainer(s, image, volumes)
	if err == nil {
		spec.other, err = sv.otherForm(s, image, volumes)
	}
	if err != nil {
		return err
	}
	spec.prepare = func(ctx context.Context) error { return sv.volumes.makeMountPoints(ctx, s) }
	if err := sv.ensureRunning(ctx, spec, !changed); err != nil {
		return explainStart(err, s)
	}
	return sv.files.confirmRunFiles(s)
}

// otherForm is the container of a service that was started before its turn. If that is there, it is
// started again instead of being replaced.
func (sv *services) otherForm(
	s agent.ServiceSpec, image dockerspec.DockerOCIImageConfig, volumes []string,
) (*otherForm, error) {
	form := preparedForm(s)
	spec, err := sv.serviceContainer(form, image, volumes)
	if err != nil {
		return nil, nil //nolint:nilerr // The engine says itself that the image has no command.
	}
	return &otherForm{digest: spec.specDigest(), keep: func(ctx context.Context) error {
		return sv.files.keepEnvironment(ctx, form, cmp.Or(s.User, image.User))
	}}, nil
}

// hasRun reports whether the container of a job has been started in this run. It looks at
// nothing else: the job's files in tmpfs, for example, may be gone after a reboot. A
// container of an earlier run is removed.
func (sv *services) hasRun(ctx context.Context, s agent.ServiceSpec) (bool, error) {
	if !s.Once {
		return false, nil
	}
	c, err := sv.inspectContainer(ctx, sv.names.serviceName(s.Deployment, s.Step))
	switch {
	case errdefs.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case c.Config.Labels[labelInstall] != sv.names.install:
		// Creating ours reports it.
		return false, nil
	case c.Config.Labels[labelRun] != s.Run:
		return false, sv.discardContainer(ctx, c)
	}
	return !neverStarted(c.State), nil
}

// neverStarted reports whether a container was created and its process never started.
func neverStarted(s *container.State) bool {
	return s == nil || s.Status == container.StateCreated
}

func checkService(s agent.ServiceSpec) error {
	others := []string{string(s.Step)}
	for _, v := range s.Volumes {
		others = append(others, v.Name)
		if v.Shared != "" {
			others = append(others, v.Shared)
		}
	}
	return checkNames(s.Deployment, others...)
}

func (sv *services) serviceContainer(
	s agent.ServiceSpec, image dockerspec.DockerOCIImageConfig, volumes []string,
) (containerSpec, error) {
	pids := int64(servicePids)
	config := &container.Config{
		Image:       imageReference(s.Image),
		Env:         environmentList(s.Env),
		Entrypoint:  s.Entrypoint,
		Cmd:         s.Command,
		User:        s.User,
		StopSignal:  s.StopSignal,
		StopTimeout: stopTimeout(s.StopGrace),
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	if s.Ready != nil && s.Ready.Image {
		config.Healthcheck = imageCheck(s.Ready)
	}
	if readsEnvironment(s) {
		if err := wrapWithInit(config, s, image); err != nil {
			return containerSpec{}, err
		}
		config.Healthcheck = checkWithSecrets(config.Healthcheck, image)
	}
	host := &container.HostConfig{
		NetworkMode:   container.NetworkMode(sv.names.networkName(s.Deployment)),
		LogConfig:     serviceLogs(),
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		CapDrop:       []string{"ALL"},
		CapAdd:        serviceCapabilities(),
		SecurityOpt:   []string{"no-new-privileges"},
		Resources:     resourceLimits(s.Resources, &pids),
		Mounts:        sv.serviceMounts(s, volumes),
		ExtraHosts:    extraHosts(s.ExtraHosts),
		// Mounts are writable all the same, unless they say otherwise.
		ReadonlyRootfs: s.ReadOnly,
	}
	if s.Init {
		host.Init = new(true)
	}
	host.DeviceRequests = deviceRequests(s.GPUs)
	if checksWithSecrets(config) {
		host.Tmpfs = map[string]string{checkOutputTarget: checkOutputOptions}
	}
	return containerSpec{
		name: sv.names.serviceName(s.Deployment, s.Step), kind: agent.KindService,
		oldName:    sv.names.oldServiceName(s.Deployment, s.Step),
		deployment: s.Deployment, run: s.Run, step: s.Step, config: config, host: host,
		network: sv.names.networkName(s.Deployment), alias: string(s.Step),
	}, nil
}

// imageCheck is the health check that the image declares, with the step's times
// where it has some: an image that looks every half a minute need not keep
// everybody waiting as long. How many failures are too many, the agent counts.
func imageCheck(r *pipeline.Readiness) *container.HealthConfig {
	if r.IntervalSeconds == 0 && r.TimeoutSeconds == 0 && r.StartPeriodSeconds == 0 {
		return nil
	}
	return &container.HealthConfig{
		Interval:    time.Duration(r.IntervalSeconds) * time.Second,
		Timeout:     time.Duration(r.TimeoutSeconds) * time.Second,
		StartPeriod: time.Duration(r.StartPeriodSeconds) * time.Second,
	}
}

// deviceRequests requests GPUs from the engine; the node's configuration decides which
// driver provides them.
func deviceRequests(g *pipeline.GPUs) []container.DeviceRequest {
	if g == nil {
		return nil
	}
	return []container.DeviceRequest{{
		Count: g.Count, DeviceIDs: g.DeviceIDs, Capabilities: [][]string{{"gpu"}},
	}}
}

// wrapWithInit runs the image's command through our init. Setting an entrypoint hides the
// image's command too, so both are written out.
func wrapWithInit(
	config *container.Config, s agent.ServiceSpec, image dockerspec.DockerOCIImageConfig,
) error {
	entrypoint, command := image.Entrypoint, s.Command
	if len(s.Entrypoint) > 0 {
		entrypoint = s.Entrypoint
	} else if len(command) == 0 {
		command = image.Cmd
	}
	if len(entrypoint) == 1 && entrypoint[0] == "" {
		entrypoint = nil
	}
	command = append(slices.Clone(entrypoint), command...)
	if len(command) == 0 {
		return fmt.Errorf("image %s has neither entrypoint nor command: set the service's command",
			imageReference(s.Image))
	}
	config.Entrypoint = initCommand()
	config.Cmd = command
	return nil
}

// serviceMounts gets the names that the engine knows the service's volumes by.
func (sv *services) serviceMounts(s agent.ServiceSpec, volumes []string) []mount.Mount {
	// Every service has the helper: people's commands go through it (Inside).
	mounts := []mount.Mount{bindMount(sv.hostPaths().toHost(sv.helper.initPath()), initTarget)}
	if readsEnvironment(s) {
		mounts = append(
			mounts,
			bindMount(sv.hostPaths().toHost(sv.files.envDir(s.Deployment, s.Step)), secretsTarget),
		)
	}
	for i, f := range s.Files {
		source := sv.hostPaths().toHost(sv.files.renderedFile(s.Deployment, s.Step, i))
		mounts = append(mounts, bindMount(source, f.Path))
	}
	for i, v := range s.Volumes {
		mounts = append(mounts, mount.Mount{
			Type: mount.TypeVolume, Target: v.Path, Source: volumes[i], ReadOnly: v.ReadOnly,
		})
	}
	for _, t := range s.Tmpfs {
		mounts = append(mounts, mount.Mount{Type: mount.TypeTmpfs, Target: t.Path,
			TmpfsOptions: &mount.TmpfsOptions{SizeBytes: int64(t.SizeMiB) << 20}})
	}
	return mounts
}

// stopTimeout is what the engine keeps with the container, and graceOf reads.
func stopTimeout(grace time.Duration) *int {
	if grace <= 0 {
		return nil
	}
	return new(wholeSeconds(grace))
}

// extraHosts are in the engine's form. A name with two addresses has two lines.
func extraHosts(hosts []pipeline.ExtraHost) (all []string) {
	for _, h := range hosts {
		all = append(all, h.Name+":"+h.Address)
	}
	return all
}

func bindMount(source, target string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true}
}

// resourceLimits are hard: memory includes swap, and no core files.
func resourceLimits(r pipeline.Resources, pids *int64) container.Resources {
	if r.CPU <= 0 {
		r.CPU = defaultCPU
	}
	if r.MemoryMiB <= 0 {
		r.MemoryMiB = defaultMemoryMiB
	}
	memory := int64(r.MemoryMiB) << 20
	return container.Resources{
		NanoCPUs: int64(r.CPU * 1e9), Memory: memory, MemorySwap: memory,
		PidsLimit: pids, Ulimits: noCoreDumps(),
	}
}

// environmentList is sorted, so that the same specification has the same digest.
func environmentList(env map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
