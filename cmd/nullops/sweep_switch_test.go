package main_test

import (
	"fmt"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// dieInSwitch kills the control plane while an update takes the place of the deployment that runs.
// Right after, and in the end, the name and the hosts are of exactly one deployment.
func (s *sweep) dieInSwitch(t *testing.T, d death) {
	p := s.fresh(t)
	p.startControlPlane(t)
	p.enrol(t, "alpha", "qa")
	first := p.pushBuild(t, "opened", "v1.0.0", "")
	url := serviceURL(t, first, "web")
	p.controlPlane.stop(t)
	p.startControlPlane(t, "NULLOPS_FAILPOINT="+d.place+"=kill@"+d.visit)
	p.deliverBuild(t, "updated", "v1.1.0")
	<-p.controlPlane.done
	if state := p.controlPlane.cmd.ProcessState; state.Success() || state.Exited() {
		t.Fatalf("it ended by itself: %v\n%s", state, lastLines(p.controlPlane.log, 30))
	}
	p.startControlPlane(t)
	p.startIngress(t)
	p.hasOneOwner(t, url)
	// Who died has claimed the review for three minutes.
	pgtest.Exec(t, p.database, "UPDATE reviews SET claimed_until = NULL")
	eventually(t, "the update has its place", func() string {
		now := p.named(t, "rows-main")
		if now.Id == first.Id || now.Status != apiclient.DeploymentStatusReady {
			return fmt.Sprintf("%s is %s", now.Id, now.Status)
		}
		return ""
	})
	p.hasOneOwner(t, url)
	if was := p.named(t, "was--rows-main"); was.Id != first.Id {
		t.Errorf("what ran before is %q", was.Id)
	}
	p.answers(t, url)
}

// hasOneOwner checks that a URL is of exactly one deployment.
func (p *product) hasOneOwner(t *testing.T, url string) {
	t.Helper()
	owners := 0
	for _, d := range p.admin.all(t) {
		for _, service := range p.admin.deployment(t, d.Id).Services {
			if textOf(service.Url) == url {
				owners++
			}
		}
	}
	if owners != 1 {
		t.Errorf("%s is of %d deployments", url, owners)
	}
}
