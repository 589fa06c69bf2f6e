package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// Each exposed port shows the address that opens it, on the page, in the capsule, in the
// message of a webhook and in the comment on a pull request; a port that is not exposed has none.
// The addresses stay when the environment gets another domain.
func TestDeployment_ShowsTheURLOfEachExposedPort(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	p := shopPipeline()
	p.Steps[0].Service.Ports = []pipeline.Port{{Name: "http", Port: 8080, Expose: true},
		{Name: "admin", Port: 9000, Expose: true}, {Name: "metrics", Port: 9100}}
	w.expectSaved(w.catalog.SavePipeline(t.Context(), system, "shop", p, "with an admin port"))
	hook, host := startReceiver(t, 0), newCodeHost(t)
	w.makeWebhook("ci", hook.URL)
	w.makeRule("shop", "github", host.URL)
	w.github("shop", pullRequest("opened", "feature/cart", "abc1234def", "acme/shop"))
	d := w.awaitDeployment("shop-12", isQueued)
	const main, admin = "http://api.shop-12.qa.localhost:8000",
		"http://admin--api.shop-12.qa.localhost:8000"
	_, bodies := hook.wait(t, 1)
	if !strings.Contains(bodies[0], `"urls":["`+main+`","`+admin+`"]`) {
		t.Errorf("the webhook got %s", bodies[0])
	}
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
	host.wait(t, "POST /repos/acme/shop/issues/12/comments", `- `+main+`\n- `+admin+`\n`)
	w.expect(http.StatusOK, "PUT", "/environments/qa", w.token("root"),
		object{"domain": "lab.example.org"}, nil)
	want := map[string]string{"http": main, "admin": admin, "metrics": ""}
	var got api.Deployment
	w.got("/api/v1/deployments/"+string(d.ID), w.token("reader"), &got)
	var capsule api.Capsule
	w.got("/api/v1/deployments/"+string(d.ID)+"/capsule", w.token("reader"), &capsule)
	if capsule.Services[0].Ports == nil {
		t.Fatal("the capsule has no ports")
	}
	for place, ports := range map[string][]api.ServicePort{
		"the page": got.Services[0].Ports, "the capsule": *capsule.Services[0].Ports} {
		if len(ports) != len(want) {
			t.Errorf("%s has the ports %+v", place, ports)
		}
		for _, port := range ports {
			url := ""
			if port.Url != nil {
				url = *port.Url
			}
			if url != want[port.Name] {
				t.Errorf("%s: port %s opens at %q, want %q", place, port.Name, url, want[port.Name])
			}
		}
	}
}
