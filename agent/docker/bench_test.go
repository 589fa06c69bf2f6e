package docker_test

import (
	"os/exec"
	"strings"
	"testing"
)

// One plugin step, with its container made ahead as the engine does, beside
// what a person would type.
func BenchmarkPluginStep(b *testing.B) {
	r := newRig(b)
	id := r.deployment()
	p := r.plugin(id, "step")
	ref := r.image.Repository + ":" + r.image.Tag
	b.Run("ours", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			if err := r.CreatePlugin(b.Context(), p); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := r.RunPlugin(b.Context(), p, []byte("{}"), func(string) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("docker run", func(b *testing.B) {
		for range b.N {
			c := exec.CommandContext(b.Context(), "docker", "-H", r.host, "run", "--rm", "-i", ref)
			c.Stdin = strings.NewReader("{}")
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}
