package docker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/testpart"
)

// The files of a job that has ended are read, those that match and nothing beside them: no
// folder below, no link, and no more than allowed.
//
// threat: T45
func TestReadFiles_OfAnEndedJob(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	job := r.service(id, "e2e")
	job.Once, job.Ready, job.Ports, job.Command = true, nil, nil, []string{"results", "/results"}
	if err := r.StartService(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if p := r.awaitEnd(job); p.ExitCode != 0 {
		t.Fatalf("the job: %+v", p)
	}
	wide := agent.FileLimits{Files: 256, Bytes: 8 << 20}
	for _, c := range []struct {
		pattern string
		limits  agent.FileLimits
		want    []string
		fails   string
	}{
		{"/results/*.xml", wide, []string{"a.xml", "b.xml"}, ""},
		{"/results/[b-z]*.xml", wide, []string{"b.xml"}, ""},
		{"/results/a.xml", wide, []string{"a.xml"}, ""},
		{"/results/sub/*", wide, []string{"c.xml"}, ""},
		{"/results/link.xml", wide, nil, ""},
		{"/results/far.xml", wide, nil, ""},
		{"/results/d.xml", wide, nil, ""},
		{"/linked/*.xml", wide, nil, ""},
		{"/results/none.xml", wide, nil, ""},
		{"/nowhere/*.xml", wide, nil, ""},
		{"/results/*.xml", agent.FileLimits{Files: 1, Bytes: 8 << 20}, nil, "more than 1"},
		{"/results/*.xml", agent.FileLimits{Files: 9, Bytes: 60}, nil, "more than 60 bytes"},
	} {
		found, err := r.ReadFiles(t.Context(), id, "e2e", c.pattern, c.limits)
		var names []string
		for _, f := range found {
			names = append(names, f.Name)
			want := fmt.Sprintf(`<testcase name="%s"/>`, f.Name)
			if !strings.Contains(string(f.Data), want) && f.Name != "c.xml" {
				t.Errorf("%s: %s is %q", c.pattern, f.Name, f.Data)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, c.want) || (err != nil) != (c.fails != "") ||
			err != nil && (!strings.Contains(err.Error(), c.fails) || errors.Is(err, agent.ErrUnavailable)) {
			t.Errorf("%s: %q, %v", c.pattern, names, err)
		}
	}
	if _, err := r.ReadFiles(t.Context(), id, "nobody", "/a/*", wide); !errors.Is(err,
		agent.ErrNotFound) {
		t.Errorf("of no container: %v", err)
	}
}
