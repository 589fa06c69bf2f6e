package api_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/pipeline"
)

// Each exposed port shows the address that opens it; a port that is not exposed
// has none.
func TestDeployment_ShowsTheURLOfEachExposedPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	p := shopPipeline()
	p.Steps[0].Service.Ports = []pipeline.Port{{Name: "http", Port: 8080, Expose: true},
		{Name: "admin", Port: 9000, Expose: true}, {Name: "metrics", Port: 9100}}
	w.expectSaved(w.catalog.SavePipeline(t.Context(), system, "shop", p, "with an admin port"))
	d := w.deploy("first")
	var got api.Deployment
	w.got("/api/v1/deployments/"+string(d.ID), w.token("reader"), &got)
	want := map[string]string{"http": "http://api.first.qa.localhost:8000",
		"admin": "http://admin--api.first.qa.localhost:8000", "metrics": ""}
	for _, port := range got.Services[0].Ports {
		url := ""
		if port.Url != nil {
			url = *port.Url
		}
		if url != want[port.Name] {
			t.Errorf("port %s opens at %q, want %q", port.Name, url, want[port.Name])
		}
	}
}
