package docker

import (
	"slices"
	"testing"
	"time"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/moby/api/types/container"
)

// An image's own shell runs the shell form; a check that is switched off, by the
// image or for the service, stays so; the step's times are kept.
func TestCheckWithSecrets(t *testing.T) {
	times := &container.HealthConfig{Interval: time.Second}
	off := &container.HealthConfig{Test: []string{"NONE"}}
	for name, c := range map[string]struct {
		check *container.HealthConfig
		test  []string
		shell []string
		want  []string
	}{
		"command": {nil, []string{"CMD", "ask", "me"}, nil, []string{"ask", "me"}},
		"times":   {times, []string{"CMD", "ask"}, nil, []string{"ask"}},
		"shell": {nil, []string{"CMD-SHELL", "ask | me"}, nil,
			[]string{"/bin/sh", "-c", "ask | me"}},
		"own shell": {nil, []string{"CMD-SHELL", "ask"}, []string{"/ash", "-ec"},
			[]string{"/ash", "-ec", "ask"}},
		"image off":  {times, []string{"NONE"}, nil, nil},
		"image none": {times, nil, nil, nil},
		"step off":   {off, []string{"CMD", "ask"}, nil, nil},
	} {
		image := dockerspec.DockerOCIImageConfig{}
		image.Healthcheck = &dockerspec.HealthcheckConfig{Test: c.test, Retries: 7}
		image.Shell = c.shell
		got := checkWithSecrets(c.check, image)
		if c.want == nil {
			if got != c.check {
				t.Errorf("%s: it became %+v", name, got)
			}
			continue
		}
		want := append([]string{"CMD", "/.nullops/init", "check", "/.nullops/run/env.json",
			"/.nullops/check", "--"}, c.want...)
		if !slices.Equal(got.Test, want) || c.check != nil && got.Interval != c.check.Interval {
			t.Errorf("%s: it became %+v", name, got)
		}
	}
}
