package lifecycle

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// A job is placed, versioned, cloned and moved like a service, and has no health.
func TestJob_IsAContainerWithoutHealth(t *testing.T) {
	container := func(memory int) pipeline.ServiceStep {
		return pipeline.ServiceStep{Name: "api", GPUs: &pipeline.GPUs{Count: 1},
			Image:     &pipeline.Image{Registry: "r", Repository: "api", Tag: "1"},
			Volumes:   []pipeline.Volume{{Name: "data", Path: "/data"}},
			Resources: pipeline.Resources{CPU: 1, MemoryMiB: memory}}
	}
	web := container(100)
	p := pipeline.Pipeline{Order: []pipeline.StepKey{"migrate", "web"}, Steps: []pipeline.Step{
		{Key: "migrate", Job: &pipeline.JobStep{ServiceStep: container(300)}},
		{Key: "web", Needs: []pipeline.StepKey{"migrate"}, Service: &web}}}
	if ask := resourceRequest(p, controlplane.Placement{}); ask.MemoryMiB != 300 || ask.CPU != 1 ||
		ask.GPUs != 2 {
		t.Errorf("asks for %+v", ask)
	}
	given := withGPUs(p, []string{"0", "1"})
	if s := given.Steps[0]; s.Job.GPUs.DeviceIDs[0] != "0" || p.Steps[0].Job.GPUs.Count != 1 {
		t.Errorf("the job's GPUs: %+v", s.Job.GPUs)
	}
	if rows := stepRows(p); rows[0].Kind != "job" || rows[0].Title != "api:1" {
		t.Errorf("the job's step: %+v", rows[0])
	}
	versions := listVersions(p)
	if len(versions) != 2 || !versions[0].Job || versions[1].Job {
		t.Errorf("versions %+v", versions)
	}
	all := (&Lifecycle{}).serviceViews(controlplane.Deployment{Versions: versions}, nil, nil)
	if len(all) != 1 || all[0].Step != "web" {
		t.Errorf("services %+v", all)
	}
	wanted := wantedVersions(p, Request{})
	if len(wanted) != 2 || len(toAsk(p, wanted, Request{})) != 2 {
		t.Errorf("versions to resolve: %+v", wanted)
	}
	if pairs := pairServices(versions, p); len(pairs) != 2 || pairs[0].State != "same" {
		t.Errorf("a clone: %+v", pairs)
	}
	if names := volumesToCopy(p); len(names) != 2 {
		t.Errorf("volumes to move: %+v", names)
	}
}
