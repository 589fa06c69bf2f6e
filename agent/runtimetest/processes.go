package runtimetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// A user may be a name, which is looked up in the image with its groups, or a number, which need
// not be in the image. What is started in a service later has the same user. A name that the image
// does not have is refused.
func userIsTheImages(b *testDeployment) {
	if b.Actor == nil {
		return
	}
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	for user, want := range map[string]string{"somebody": "1234:1234:4321",
		"somebody:staff": "1234:4321:", "1234": "1234:1234:4321",
		"77": "77:0:", "77:78": "77:78:", "root": "0:0:", "": "0:0:"} {
		s := b.newService("web")
		b.Actor(&s, "echo", "7")
		s.User, s.Ready = user, &pipeline.Readiness{Command: []string{"/actor", "is", want}}
		b.mustSucceed(b.Runtime.Pull(b.ctx, s.Image, nil, nil))
		b.mustSucceed(b.Runtime.StartService(b.ctx, s))
		p := b.awaitProbe(s, func(p agent.ProbeResult) bool {
			return p.Health == wire.HealthHealthy || strings.Contains(p.Detail, "it is ")
		})
		if p.Health != wire.HealthHealthy {
			b.Errorf("user %q is not %s: %s", user, want, p.Detail)
		}
		b.mustSucceed(b.Runtime.Remove(b.ctx, b.onlyObject(agent.KindService)))
	}
	s := b.newService("web")
	b.Actor(&s, "echo", "7")
	s.User = "nobody-knows"
	if err := b.Runtime.StartService(b.ctx, s); err == nil ||
		!strings.Contains(err.Error(), "nobody-knows") || errors.Is(err, agent.ErrUnavailable) {
		b.Errorf("a user that the image does not have: %v", err)
	}
}

// A service that is not to be restarted is started again by nobody but StartService, and ends with
// its own exit code.
func endedServiceStaysEnded(b *testDeployment) {
	if b.Actor == nil {
		return
	}
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	s := b.newService("once")
	b.Actor(&s, "sleep-ms", "1500")
	s.Never, s.Ready = true, nil
	b.mustSucceed(b.Runtime.Pull(b.ctx, s.Image, nil, nil))
	for range 2 {
		b.mustSucceed(b.Runtime.StartService(b.ctx, s))
		b.awaitProbe(s, func(p agent.ProbeResult) bool { return p.Health == wire.HealthHealthy })
		p := b.awaitProbe(s, func(p agent.ProbeResult) bool { return p.Ended })
		if p.ExitCode != 0 || p.OOM || p.Cluster != "" {
			b.Errorf("it ended as %+v", p)
		}
		for until := time.Now().Add(4 * time.Second); time.Now().Before(until); {
			if p, err := b.Runtime.Probe(b.ctx, s); err != nil || !p.Ended {
				b.Fatalf("after its end, it is %+v, %v", p, err)
			}
			b.mustSucceed(wait.Sleep(b.ctx, 50*time.Millisecond))
		}
		if o := b.onlyObject(agent.KindService); o.Running {
			b.Errorf("after its end, it is listed as %+v", o)
		}
	}
}

// The files that a job has left are read when it has ended, as often as wanted: those that match,
// nothing beside them, and no more than allowed. A job that is stopped keeps what it has left by
// then.
func jobLeavesItsResults(b *testDeployment) {
	reader, ok := b.Runtime.(agent.FileReader)
	if !ok || b.Actor == nil {
		return
	}
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	job := b.newService("job")
	b.Actor(&job, "results", "/results")
	job.Once, job.Ready, job.Results = true, nil, "/results/*.xml"
	job.SecretEnv["PASSWORD"] = "hunter2"
	b.mustSucceed(b.Runtime.Pull(b.ctx, job.Image, nil, nil))
	b.mustSucceed(b.Runtime.StartService(b.ctx, job))
	p := b.awaitProbe(job, func(p agent.ProbeResult) bool { return p.Ended })
	if p.ExitCode != 0 {
		b.Errorf("the job ended as %+v", p)
	}
	limits := agent.FileLimits{Files: 256, Bytes: 8 << 20}
	for range 2 {
		found, err := reader.ReadFiles(b.ctx, b.deployment, "job", job.Results, limits)
		if names := fileNames(found); err != nil || !slices.Equal(names, []string{"a.xml", "b.xml"}) ||
			!strings.Contains(string(found[0].Data), "<testsuite>") {
			b.Errorf("it left %q, %v", names, err)
		}
	}
	for says, few := range map[string]agent.FileLimits{"more than 1": {Files: 1, Bytes: 8 << 20},
		"more than 60 bytes": {Files: 9, Bytes: 60}} {
		_, err := reader.ReadFiles(b.ctx, b.deployment, "job", job.Results, few)
		if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, agent.ErrUnavailable) {
			b.Errorf("more than is allowed: %v", err)
		}
	}
	if p, err := b.Runtime.Probe(b.ctx, job); err != nil || !p.Ended || p.ExitCode != 0 {
		b.Errorf("after its results were read, the job is %+v, %v", p, err)
	}
	job.Run = "run-2"
	b.Actor(&job, "results", "/results", "stay")
	b.mustSucceed(b.Runtime.StartService(b.ctx, job))
	b.awaitLog("job", "the results are there")
	if ran, err := b.Runtime.StopService(b.ctx, b.deployment, "job"); !ran || err != nil {
		b.Errorf("a running job: it ran %t, %v", ran, err)
	}
	found, err := reader.ReadFiles(b.ctx, b.deployment, "job", job.Results, limits)
	if names := fileNames(found); err != nil || !slices.Equal(names, []string{"a.xml", "b.xml"}) {
		b.Errorf("stopped, it left %q, %v", names, err)
	}
	if _, err := reader.ReadFiles(b.ctx, b.deployment, "nobody", "/a/*",
		limits); !errors.Is(err, agent.ErrNotFound) {
		b.Errorf("of no container: %v", err)
	}
}

func fileNames(all []agent.ContainerFile) (names []string) {
	slices.SortFunc(all, func(a, b agent.ContainerFile) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range all {
		names = append(names, f.Name)
	}
	return names
}
